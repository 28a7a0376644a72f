//! `POST /v1/retrieve`: the tools for an intent, ready to be put into a context.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use kitbag_domain::Caller;
use kitbag_relevance::{MAX_TOP_K, Options, Parts, WriteClass};
use kitbag_wire::{Raw, RawObject, raw};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::auth::{self, Refused};
use super::guard;
use super::http::read_body;
use super::response::not_admitted;
use crate::catalog::Catalog;
use crate::failure::Failure;
use crate::find::{UNSURE, find};
use crate::rooms::Rooms;
use crate::signature::{request, signature};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    intent: String,
    top_k: Option<usize>,
    max_cost_usd: Option<f64>,
    max_latency_ms_p99: Option<f64>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    providers: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    write_class: Vec<WriteClass>,
    #[serde(default)]
    format: Format,
}

/// How the tools are written down.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// One line each.
    #[default]
    Compact,
    /// As `tools/list` gives them.
    Mcp,
    Anthropic,
    Openai,
}

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

pub(super) async fn answer(
    State(rooms): State<Arc<Rooms>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    let caller = match auth::admit(&rooms, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(Refused::Foreign { reason }) => return problem(StatusCode::FORBIDDEN, &reason),
        Err(refused) => return not_admitted(&refused),
    };
    if let Some(reason) = rooms.policy.unknown_tenant(&caller) {
        return problem(StatusCode::FORBIDDEN, &reason);
    }
    // Whoever types at a terminal need not say what the body is; a page must, because then it has to ask.
    if let Some(kind) = guard::foreign_body(request.headers())
        && guard::is_from_browser(request.headers())
    {
        let failure = Failure::ForeignBody { kind: kind.to_owned() };
        return problem(super::reply::door_status(&failure), &failure.to_string());
    }
    let body = match read_body(request.into_body(), rooms.serve.max_body_bytes).await {
        Ok(body) => body,
        Err(failure) => return problem(super::reply::door_status(&failure), &failure.to_string()),
    };
    match serde_json::from_slice::<Asked>(&body) {
        Ok(Asked { top_k: Some(0), .. }) => problem(StatusCode::BAD_REQUEST, "`top_k` must be at least 1"),
        Ok(asked) => retrieve(&rooms, &caller, asked).await,
        Err(error) => problem(StatusCode::BAD_REQUEST, &format!("the request cannot be read: {error}")),
    }
}

async fn retrieve(rooms: &Rooms, caller: &Caller, asked: Asked) -> HttpResponse {
    let started = Instant::now();
    let options = Options {
        top_k: asked.top_k.unwrap_or(MAX_TOP_K).min(MAX_TOP_K),
        max_cost_usd: asked.max_cost_usd,
        max_latency_ms_p99: asked.max_latency_ms_p99,
        tenant: Some(caller.tenant.clone()),
        scopes: asked.scopes,
        providers: asked.providers,
        tags: asked.tags,
        write_classes: asked.write_class,
        ..Options::default()
    };
    let found = find(rooms, caller, &asked.intent, &options).await;
    let (catalog, snapshot) = (rooms.catalog(), rooms.index.snapshot());
    let candidates = found.candidates.iter();
    let shown: Vec<_> = candidates
        .map(|it| Shown {
            tool_name: it.entry.tool_name.clone(),
            score: it.score,
            parts: it.parts,
            cosine: it.cosine,
            latency_from_p95: it.latency_from_p95,
            also: it.copies.iter().map(|copy| copy.tool_name.clone()).collect(),
            metadata: serde_json::to_value(&*it.entry).expect("an entry is plain JSON"),
        })
        .collect();
    let tools: Vec<Raw> =
        shown.iter().filter_map(|it| written(rooms, &catalog, asked.format, &it.tool_name)).collect();
    let (indexed, embedded) = rooms.indexed(caller);
    let mut answer = RawObject::new()
        .with("tools", &tools)
        .with("candidates", &shown)
        .with("indexed", &indexed)
        .with("embedded", &embedded)
        .with("took_ms", &(started.elapsed().as_secs_f64() * 1e3));
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

/// A tool as it was asked for. An HTTP API is no tool, so only a line can say how it is called.
fn written(rooms: &Rooms, catalog: &Catalog, format: Format, name: &str) -> Option<Raw> {
    if let Some(entry) = catalog.tool(name) {
        return Some(format.write(&entry.exposed, &entry.definition));
    }
    let provider = rooms.providers.get(&name.parse().ok()?)?;
    matches!(format, Format::Compact).then(|| raw(&request(provider.spec())))
}

impl Format {
    fn write(self, name: &str, definition: &Raw) -> Raw {
        let object = RawObject::open(definition).unwrap_or_default();
        let schema =
            || object.get("inputSchema").map_or_else(|| raw(&json!({ "type": "object" })), ToOwned::to_owned);
        let described = |key: &str| {
            let mut tool = RawObject::new().with("name", name);
            if let Some(description) = object.get("description") {
                tool.set("description", description.to_owned());
            }
            tool.set(key, schema());
            tool
        };
        match self {
            Self::Compact => raw(&signature(name, &object)),
            Self::Mcp => definition.clone(),
            Self::Anthropic => described("input_schema").to_raw(),
            Self::Openai => {
                RawObject::new().with("type", "function").with("function", &described("parameters")).to_raw()
            }
        }
    }
}

fn problem(status: StatusCode, message: &str) -> HttpResponse {
    json_body(status, &raw(&json!({ "error": { "message": message } })))
}

fn json_body(status: StatusCode, body: &Raw) -> HttpResponse {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, body.get().to_owned()).into_response()
}
