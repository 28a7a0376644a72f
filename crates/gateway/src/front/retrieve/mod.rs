//! `POST /v1/retrieve`: the tools for an intent, ready to be put into a context.

mod context;
mod findings;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::{Caller, InquiryKind, Purpose};
use kitbag_relevance::Options;
use kitbag_wire::RawObject;
use serde::Serialize;
use serde_json::json;

use super::access;
use super::auth;
use super::body::read_body;
use super::guard;
use super::response::{json, not_admitted};
use crate::audit::inquiries::{BegunInquiry, Inquirer, InquiryEnd};
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
    let origin = access::origin(peer, request.headers());
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
        Ok(asked) => {
            let by = Inquirer {
                gateway: &gateway,
                caller: &caller,
                client: None,
                origin: &origin,
                purpose: Purpose::Use,
            };
            retrieve(by, asked, &String::from_utf8_lossy(&body)).await
        }
        Err(wrong) => refusal(StatusCode::BAD_REQUEST, &wrong),
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

/// Answers, and leaves a row in the audit.
async fn retrieve(by: Inquirer<'_>, asked: RetrieveRequest, body: &str) -> HttpResponse {
    let Inquirer {
        gateway, caller, ..
    } = by;
    let started = Instant::now();
    let options = options(&asked, caller);
    let found = findings(gateway, caller, &asked.intents, &options).await;
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
    put_verdict(&mut answer, &found);
    let begun = BegunInquiry {
        kind: InquiryKind::Search,
        subject: "/v1/retrieve",
        arguments: body,
        started,
    };
    begun.end(
        by,
        &InquiryEnd::found(context.shown.len(), Some(context.tokens)),
    );
    json(StatusCode::OK, answer.to_raw().get().to_owned())
}

fn options(asked: &RetrieveRequest, caller: &Caller) -> Options {
    Options {
        top_k: asked.top_k,
        max_cost_usd: asked.max_cost_usd,
        max_latency_ms_p99: asked.max_latency_ms_p99,
        tenant: Some(caller.tenant.clone()),
        scopes: asked.scopes.clone(),
        providers: asked.providers.clone(),
        tags: asked.tags.clone(),
        write_classes: asked.write_class.clone(),
        exclude: asked.exclude.clone(),
        ..Options::default()
    }
}

async fn findings(
    gateway: &Gateway,
    caller: &Caller,
    intents: &RequestedIntents,
    options: &Options,
) -> RetrieveFindings {
    match intents {
        RequestedIntents::One(intent) => {
            RetrieveFindings::one(find(gateway, caller, intent, options).await)
        }
        RequestedIntents::Several(intents) => {
            RetrieveFindings::several(gateway, caller, intents, options).await
        }
    }
}

/// Adds to the answer how sure the search is of what it found.
fn put_verdict(answer: &mut RawObject, found: &RetrieveFindings) {
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
}

fn problem(status: StatusCode, message: &str) -> HttpResponse {
    refusal(status, &json!({ "message": message }))
}

fn refusal(status: StatusCode, error: &impl Serialize) -> HttpResponse {
    json(status, json!({ "error": error }).to_string())
}
