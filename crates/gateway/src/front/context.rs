//! `POST /v1/context`: the words that a person just said to an agent. The answer has the tools worth
//! knowing for them, and the adaptive lists of the caller's clients follow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::text::visible_line;
use kitbag_domain::{InquiryKind, Purpose};
use kitbag_relevance::{Candidate, MAX_TOP_K};
use kitbag_wire::RawObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::access;
use super::posted::{problem, read_posted};
use super::response::json;
use crate::audit::inquiries::{BegunInquiry, Inquirer, InquiryEnd};
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
    let origin = access::origin(peer, request.headers());
    let posted = match read_posted(&gateway, peer, request).await {
        Ok(posted) => posted,
        Err(refused) => return refused,
    };
    match serde_json::from_slice::<SpokenContext>(&posted.bytes) {
        Ok(context) => {
            let by = Inquirer {
                gateway: &gateway,
                caller: &posted.caller,
                client: None,
                origin: &origin,
                purpose: Purpose::Use,
            };
            heard(by, &context, &String::from_utf8_lossy(&posted.bytes)).await
        }
        Err(error) => {
            let expected =
                "send {\"text\": \"…\"}, with \"top_k\" if you want more than five tools";
            problem(StatusCode::BAD_REQUEST, &format!("{error}; {expected}"))
        }
    }
}

/// Answers, and leaves a row in the audit.
async fn heard(by: Inquirer<'_>, context: &SpokenContext, body: &str) -> HttpResponse {
    let Inquirer {
        gateway, caller, ..
    } = by;
    let started = Instant::now();
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
    let tools: Vec<Value> = tools.collect();
    let begun = BegunInquiry {
        kind: InquiryKind::Search,
        subject: "/v1/context",
        arguments: body,
        started,
    };
    let answer = json!({ "tools": tools }).to_string();
    let tokens = kitbag_budget::estimate(&answer);
    begun.end(by, &InquiryEnd::found(tools.len(), Some(tokens)));
    json(StatusCode::OK, answer)
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
