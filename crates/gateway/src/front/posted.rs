//! A request that posts JSON beside MCP: its caller is admitted, and its body read within bounds.

use std::net::SocketAddr;

use axum::extract::Request as HttpRequest;
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Caller;
use serde::Serialize;
use serde_json::json;

use super::auth;
use super::body::read_body;
use super::guard;
use super::response::{json, not_admitted};
use crate::call::failure::Failure;
use crate::call::reply::rejection_status;
use crate::front::flights::HeldLoad;
use crate::state::gateway::Gateway;
use crate::telemetry::refusals::Refused;

/// A body that counts for its caller as long as it lives.
pub(super) struct PostedBody {
    pub(super) caller: Caller,
    pub(super) bytes: Vec<u8>,
    _held: Option<HeldLoad>,
}

/// Reads a body, or returns the refusal that the client gets instead.
pub(super) async fn read_posted(
    gateway: &Gateway,
    peer: SocketAddr,
    request: HttpRequest,
) -> Result<PostedBody, HttpResponse> {
    let caller = match auth::admit(gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(Refused::Foreign { reason }) => return Err(problem(StatusCode::FORBIDDEN, &reason)),
        Err(refused) => return Err(not_admitted(&refused)),
    };
    if let Some(reason) = gateway.policy.unknown_tenant(&caller) {
        return Err(problem(StatusCode::FORBIDDEN, &reason));
    }
    // The person at the terminal need not name the type of the body. A web page must declare it as
    // JSON, because a browser lets a page send JSON only after the browser has asked the gateway.
    if let Some(kind) = guard::foreign_body(request.headers())
        && guard::is_from_browser(request.headers())
    {
        let kind = kind.to_owned();
        return Err(failed(&Failure::ForeignBody { kind }));
    }
    let incoming = gateway.services.flights.receive(&caller);
    let body = request.into_body();
    let read = read_body(body, gateway.serve.max_body_bytes, incoming).await;
    let (bytes, held) = read.map_err(|failure| failed(&failure))?;
    Ok(PostedBody {
        caller,
        bytes,
        _held: held,
    })
}

fn failed(failure: &Failure) -> HttpResponse {
    problem(rejection_status(failure), &failure.to_string())
}

pub(super) fn problem(status: StatusCode, message: &str) -> HttpResponse {
    refusal(status, &json!({ "message": message }))
}

pub(super) fn refusal(status: StatusCode, error: &impl Serialize) -> HttpResponse {
    json(status, json!({ "error": error }).to_string())
}
