//! `POST /v1/retrieve`: the tools for an intent, ready to be put into a context.

mod asked;
mod found;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use kitbag_budget::estimate;
use kitbag_domain::Caller;
use kitbag_relevance::{Candidate, Options, Parts};
use kitbag_upstream::Secrets;
use kitbag_vendor::{Unfit, Vendor};
use kitbag_wire::{Raw, RawObject, raw};
use serde::Serialize;
use serde_json::{Value, json};

use super::auth::{self, Refused};
use super::guard;
use super::http::read_body;
use super::response::not_admitted;
use crate::authored;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::find::{UNSURE, find};
use crate::gateway::Gateway;
use crate::signature::{request, signature};
use asked::{Asked, Format, Intents};
use found::Found;

#[derive(Debug, Serialize)]
struct Shown {
    tool_name: String,
    score: f32,
    parts: Parts,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine: Option<f32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    latency_from_p95: bool,
    /// The same tool on other servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
    metadata: Value,
}

/// A tool that was found and is not handed out.
#[derive(Debug, Serialize)]
struct LeftOut {
    tool_name: String,
    reason: String,
}

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
    // Whoever types at a terminal need not say what the body is; a page must, because then it has to ask.
    if let Some(kind) = guard::foreign_body(request.headers())
        && guard::is_from_browser(request.headers())
    {
        let failure = Failure::ForeignBody {
            kind: kind.to_owned(),
        };
        return problem(super::reply::door_status(&failure), &failure.to_string());
    }
    let incoming = gateway.flights.receive(&caller);
    let (body, _held) = match read_body(request.into_body(), gateway.serve.max_body_bytes, incoming)
        .await
    {
        Ok(read) => read,
        Err(failure) => return problem(super::reply::door_status(&failure), &failure.to_string()),
    };
    let asked = Asked::read(&body).and_then(|mut asked| {
        asked.spell_providers(&known_providers(&gateway, &caller))?;
        Ok(asked)
    });
    match asked {
        Ok(asked) => retrieve(&gateway, &caller, asked).await,
        Err(wrong) => json_body(StatusCode::BAD_REQUEST, &raw(&json!({ "error": wrong }))),
    }
}

/// The servers and APIs that a caller may know of.
fn known_providers(gateway: &Gateway, caller: &Caller) -> Vec<String> {
    let servers = gateway.upstreams.iter().map(|server| server.name());
    let visible = servers
        .chain(gateway.providers.names())
        .filter(|name| gateway.server_visible(caller, name));
    visible.map(ToString::to_string).collect()
}

async fn retrieve(gateway: &Gateway, caller: &Caller, asked: Asked) -> HttpResponse {
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
        Intents::One(intent) => Found::one(find(gateway, caller, intent, &options).await),
        Intents::Several(intents) => Found::several(gateway, caller, intents, &options).await,
    };
    let good_enough = |it: &&Candidate| {
        asked
            .min_score
            .is_none_or(|least| f64::from(it.score) >= least)
    };
    let candidates = found.candidates.iter().filter(good_enough);
    let context = Context::of(gateway, candidates, asked.format, asked.token_budget);
    let (indexed, embedded) = gateway.indexed(caller);
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

/// What goes into the asking program's context, and what of it does not.
#[derive(Debug, Default)]
struct Context {
    tools: Vec<Raw>,
    shown: Vec<Shown>,
    left_out: Vec<LeftOut>,
}

impl Context {
    /// The best first, as long as the budget lasts; one that does not fit it makes room for no worse one.
    fn of<'a>(
        gateway: &Gateway,
        found: impl Iterator<Item = &'a Candidate>,
        format: Format,
        budget: Option<usize>,
    ) -> Self {
        let (mut context, mut spent) = (Self::default(), 0);
        let catalog = gateway.catalog();
        for candidate in found {
            let name = &candidate.entry.tool_name;
            match written(gateway, &catalog, format, name) {
                Err(unfit) => {
                    context.leave_out(name, &format!("{unfit}, which this vendor does not accept"))
                }
                Ok(tool) => {
                    spent += tool.as_ref().map_or(0, |tool| estimate(tool.get()));
                    if budget.is_some_and(|budget| spent > budget) {
                        context.leave_out(name, "the token budget is spent");
                        continue;
                    }
                    context.tools.extend(tool);
                    context.shown.push(Shown::of(candidate));
                }
            }
        }
        context
    }

    fn leave_out(&mut self, name: &str, reason: &str) {
        self.left_out.push(LeftOut {
            tool_name: name.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

impl Shown {
    fn of(found: &Candidate) -> Self {
        Self {
            tool_name: found.entry.tool_name.clone(),
            score: found.score,
            parts: found.parts,
            cosine: found.cosine,
            latency_from_p95: found.latency_from_p95,
            also: found
                .copies
                .iter()
                .map(|copy| copy.tool_name.clone())
                .collect(),
            metadata: serde_json::to_value(&*found.entry).expect("an entry is plain JSON"),
        }
    }
}

/// A tool as it was asked for. An HTTP API is no tool, so only a line can say how it is called.
fn written(
    gateway: &Gateway,
    catalog: &Catalog,
    format: Format,
    name: &str,
) -> Result<Option<Raw>, Unfit> {
    if let Some(entry) = catalog.tool(name) {
        // Whoever wrote the definition, a model will read it.
        let definition = authored::shown(entry.definition.clone(), &Secrets::default());
        return format.write(&entry.exposed, &definition).map(Some);
    }
    let provider = name
        .parse()
        .ok()
        .and_then(|name| gateway.providers.get(&name));
    let line = provider
        .filter(|_| format == Format::Compact)
        .map(|provider| raw(&request(provider.spec())));
    Ok(line)
}

impl Format {
    fn write(self, name: &str, definition: &Raw) -> Result<Raw, Unfit> {
        let object = RawObject::open(definition).unwrap_or_default();
        match self {
            Self::Compact => Ok(raw(&signature(name, &object))),
            Self::Mcp => Ok(definition.clone()),
            Self::Anthropic => for_vendor(Vendor::Anthropic, name, &object),
            Self::Openai => for_vendor(Vendor::OpenAi, name, &object),
        }
    }
}

fn for_vendor(vendor: Vendor, name: &str, definition: &RawObject) -> Result<Raw, Unfit> {
    let description: String = definition.read("description").unwrap_or_default();
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    vendor
        .tool(name, &description, &schema)
        .map(|tool| raw(&tool))
}

fn problem(status: StatusCode, message: &str) -> HttpResponse {
    json_body(status, &raw(&json!({ "error": { "message": message } })))
}

fn json_body(status: StatusCode, body: &Raw) -> HttpResponse {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, body.get().to_owned()).into_response()
}
