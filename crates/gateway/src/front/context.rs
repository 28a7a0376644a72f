//! `POST /v1/context`: the words that a person just said to an agent. The answer has the tools worth
//! knowing for them, and the adaptive lists of the caller's clients follow.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Caller;
use kitbag_domain::text::visible_line;
use kitbag_relevance::{Candidate, MAX_TOP_K};
use kitbag_wire::RawObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::posted::{problem, read_posted};
use super::response::json;
use crate::find::{Findings, find_best};
use crate::gateway::Gateway;
use crate::observe;
use crate::signature::{request as api_request, signature};
use crate::surface::shown;

/// Most tasks need three to five tools.
const USUAL: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpokenContext {
    text: String,
    top_k: Option<usize>,
}

pub(super) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    let posted = match read_posted(&gateway, peer, request).await {
        Ok(posted) => posted,
        Err(refused) => return refused,
    };
    match serde_json::from_slice::<SpokenContext>(&posted.bytes) {
        Ok(context) => heard(&gateway, &posted.caller, &context).await,
        Err(error) => {
            let expected =
                "send {\"text\": \"…\"}, with \"top_k\" if you want more than five tools";
            problem(StatusCode::BAD_REQUEST, &format!("{error}; {expected}"))
        }
    }
}

async fn heard(gateway: &Gateway, caller: &Caller, context: &SpokenContext) -> HttpResponse {
    let places = context.top_k.unwrap_or(USUAL).clamp(1, MAX_TOP_K);
    let found = find_best(gateway, caller, &context.text, places).await;
    // The nearest tools to a text that needs none would only be in the way.
    let useful: Vec<&Candidate> = match found.confident {
        Some(false) => Vec::new(),
        _ => found.candidates.iter().collect(),
    };
    let names: Arc<[String]> = useful.iter().map(|it| it.entry.tool_name.clone()).collect();
    shown::said(gateway, caller, names.iter().map(String::as_str));
    observe::said_by(gateway, caller, &context.text, names);
    let tools = useful.iter().filter_map(|it| line(gateway, &found, it));
    let answer = json!({ "tools": tools.collect::<Vec<Value>>() });
    json(StatusCode::OK, answer.to_string())
}

/// A tool or an HTTP API by its name, and in one line.
fn line(gateway: &Gateway, found: &Findings, candidate: &Candidate) -> Option<Value> {
    let name = &candidate.entry.tool_name;
    let line = match found.catalog.tool(name) {
        Some(entry) => {
            let definition = RawObject::open(&entry.definition).unwrap_or_default();
            visible_line(&signature(&entry.exposed, &definition))
        }
        None => api_request(gateway.providers.get(&name.parse().ok()?)?.spec()),
    };
    Some(json!({ "name": name, "line": line, "score": candidate.score }))
}
