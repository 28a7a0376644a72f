//! `POST /v1/context`: a user's prompt to an agent. The answer contains the relevant tools, and the
//! adaptive lists of the caller's clients follow the prompt.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Purpose;
use serde::Deserialize;
use serde_json::json;

use super::access_log;
use super::json_post::{error_response, read_json_post};
use super::response::json_response;
use crate::front::user_prompt::{UserPrompt, find_tools_for_prompt};
use crate::state::gateway::Gateway;
use crate::surface::find::DEFAULT_LIMIT;
use crate::telemetry::audit::queries::QueryContext;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostedContext {
    text: String,
    top_k: Option<usize>,
}

pub(super) async fn post_context(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    let origin = access_log::request_origin(peer, request.headers());
    let posted = match read_json_post(&gateway, peer, request).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    let by = QueryContext {
        gateway: &gateway,
        caller: &posted.caller,
        client: None,
        origin: &origin,
        purpose: Purpose::Use,
    };
    match serde_json::from_slice(&posted.bytes) {
        Ok(context) => answer_prompt(by, &context).await,
        Err(error) => {
            let expected =
                "send {\"text\": \"…\"}, with \"top_k\" if you want more than five tools";
            error_response(StatusCode::BAD_REQUEST, &format!("{error}; {expected}"))
        }
    }
}

async fn answer_prompt(by: QueryContext<'_>, context: &PostedContext) -> HttpResponse {
    let prompt = UserPrompt {
        text: &context.text,
        route: "/v1/context",
        limit: context.top_k.unwrap_or(DEFAULT_LIMIT),
    };
    let found = find_tools_for_prompt(by, prompt).await;
    let answer = json!({ "tools": found.tools });
    json_response(StatusCode::OK, answer.to_string())
}
