//! `POST /v1/retrieve`: the tools for an intent, ready to be put into a context.

mod context;
mod findings;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use kitbag_domain::Caller;
use kitbag_relevance::Options;
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::json;

use super::auth;
use super::guard;
use super::http::read_body;
use super::response::not_admitted;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::find::{UNSURE, find};
use crate::gateway::Gateway;
use crate::refusals::Refused;
use context::{RetrievedContext, ToolWriter};
use findings::RetrieveFindings;
use request::{RequestedIntents, RetrieveRequest};

pub(super) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    let caller = match auth::admit(&gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(Refused::Foreign { reason }) => return problem(StatusCode::FORBIDDEN, &reason),
        Err(refused) => return not_admitted(&refused),
    };
    if let Some(reason) = gateway.policy.unknown_tenant(&caller) {
        return problem(StatusCode::FORBIDDEN, &reason);
    }
    // The person at the terminal need not name the type of the body. A web page must declare it as
    // JSON, because a browser lets a page send JSON only after the browser has asked the gateway.
    if let Some(kind) = guard::foreign_body(request.headers())
        && guard::is_from_browser(request.headers())
    {
        let failure = Failure::ForeignBody {
            kind: kind.to_owned(),
        };
        return problem(crate::reply::door_status(&failure), &failure.to_string());
    }
    let incoming = gateway.services.flights.receive(&caller);
    let (body, _held) = match read_body(request.into_body(), gateway.serve.max_body_bytes, incoming)
        .await
    {
        Ok(read) => read,
        Err(failure) => return problem(crate::reply::door_status(&failure), &failure.to_string()),
    };
    let asked = RetrieveRequest::read(&body).and_then(|mut asked| {
        asked.spell_providers(&known_providers(&gateway, &gateway.catalog(), &caller))?;
        Ok(asked)
    });
    match asked {
        Ok(asked) => retrieve(&gateway, &caller, asked).await,
        Err(wrong) => json_body(StatusCode::BAD_REQUEST, &raw(&json!({ "error": wrong }))),
    }
}

/// The servers and APIs that a caller may know of.
fn known_providers(gateway: &Gateway, catalog: &Catalog, caller: &Caller) -> Vec<String> {
    let servers = gateway.upstreams.iter().map(|server| server.name());
    let visible = servers
        .chain(gateway.providers.names())
        .filter(|name| gateway.server_visible(catalog, caller, name));
    visible.map(ToString::to_string).collect()
}

async fn retrieve(gateway: &Gateway, caller: &Caller, asked: RetrieveRequest) -> HttpResponse {
    let started = Instant::now();
    let options = Options {
        top_k: asked.top_k,
        max_cost_usd: asked.max_cost_usd,
        max_latency_ms_p99: asked.max_latency_ms_p99,
        tenant: Some(caller.tenant.clone()),
        scopes: asked.scopes,
        providers: asked.providers,
        tags: asked.tags,
        write_classes: asked.write_class,
        exclude: asked.exclude,
        ..Options::default()
    };
    let found = match &asked.intents {
        RequestedIntents::One(intent) => {
            RetrieveFindings::one(find(gateway, caller, intent, &options).await)
        }
        RequestedIntents::Several(intents) => {
            RetrieveFindings::several(gateway, caller, intents, &options).await
        }
    };
    let least = asked.min_score.unwrap_or(0.0);
    let candidates = found
        .candidates
        .iter()
        .filter(|found| f64::from(found.score) >= least);
    let writer = ToolWriter {
        gateway,
        catalog: &found.catalog,
        format: asked.format,
    };
    let context = RetrievedContext::of(&writer, candidates, asked.token_budget);
    let (indexed, embedded) = gateway.indexed(&found.catalog, caller);
    let mut answer = RawObject::new()
        .with("tools", &context.tools)
        .with("candidates", &context.shown)
        .with("indexed", &indexed)
        .with("embedded", &embedded)
        .with("took_ms", &(started.elapsed().as_secs_f64() * 1e3));
    if !context.left_out.is_empty() {
        answer.put("left_out", &context.left_out);
    }
    if let Some(intents) = &found.intents {
        answer.put("intents", intents);
    }
    if let Some(confident) = found.confident {
        answer.put("confident", &confident);
    }
    if found.confident == Some(false) {
        answer.put("note", UNSURE);
    }
    if let Some(degraded) = &found.degraded {
        answer.put("degraded", degraded);
    }
    json_body(StatusCode::OK, &answer.to_raw())
}

fn problem(status: StatusCode, message: &str) -> HttpResponse {
    json_body(status, &raw(&json!({ "error": { "message": message } })))
}

fn json_body(status: StatusCode, body: &Raw) -> HttpResponse {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, body.get().to_owned()).into_response()
}
