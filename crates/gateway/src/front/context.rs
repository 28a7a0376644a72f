//! `POST /v1/context`: the words that a person just said to an agent. The answer has the tools worth
//! knowing for them, and the adaptive lists of the caller's clients follow.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Purpose;
use serde::Deserialize;
use serde_json::json;

use super::access;
use super::posted::{problem, read_posted};
use super::response::json;
use crate::front::heard::{SpokenWords, hear};
use crate::state::gateway::Gateway;
use crate::surface::find::DEFAULT_LIMIT;
use crate::telemetry::audit::inquiries::Inquirer;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostedContext {
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
    let by = Inquirer {
        gateway: &gateway,
        caller: &posted.caller,
        client: None,
        origin: &origin,
        purpose: Purpose::Use,
    };
    match serde_json::from_slice(&posted.bytes) {
        Ok(context) => heard(by, &context).await,
        Err(error) => {
            let expected =
                "send {\"text\": \"…\"}, with \"top_k\" if you want more than five tools";
            problem(StatusCode::BAD_REQUEST, &format!("{error}; {expected}"))
        }
    }
}

async fn heard(by: Inquirer<'_>, context: &PostedContext) -> HttpResponse {
    let words = SpokenWords {
        text: &context.text,
        way: "/v1/context",
        places: context.top_k.unwrap_or(DEFAULT_LIMIT),
    };
    let found = hear(by, words).await;
    let answer = json!({ "tools": found.tools });
    json(StatusCode::OK, answer.to_string())
}
