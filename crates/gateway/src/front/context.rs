//! `POST /v1/context`: the words that a person just said to an agent. The answer has the tools worth
//! knowing for them, and the adaptive lists of the caller's clients follow.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Caller;
use serde::Deserialize;
use serde_json::json;

use super::posted::{problem, read_posted};
use super::response::json;
use crate::gateway::Gateway;
use crate::heard::{USUAL, hear};

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
    let places = context.top_k.unwrap_or(USUAL);
    let heard = hear(gateway, caller, &context.text, places).await;
    let answer = json!({ "tools": heard.tools });
    json(StatusCode::OK, answer.to_string())
}
