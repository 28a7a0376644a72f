//! A JSON POST outside MCP: admits its caller, and reads its body within limits.

use std::net::SocketAddr;

use axum::extract::Request as HttpRequest;
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::Caller;
use serde::Serialize;
use serde_json::json;

use super::auth;
use super::body::read_body;
use super::browser_guard;
use super::response::{json_response, reject_caller};
use crate::call::failure::Failure;
use crate::call::reply::rejection_status;
use crate::front::in_flight::Reservation;
use crate::state::gateway::Gateway;
use crate::telemetry::rejections::Rejection;

/// A body that counts for its caller as long as it exists.
pub(super) struct JsonPost {
    pub(super) caller: Caller,
    pub(super) bytes: Vec<u8>,
    _reservation: Option<Reservation>,
}

/// Reads a body, or returns the error response.
pub(super) async fn read_json_post(
    gateway: &Gateway,
    peer: SocketAddr,
    request: HttpRequest,
) -> Result<JsonPost, HttpResponse> {
    let caller = match auth::admit_user(gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(Rejection::Foreign { reason }) => {
            return Err(error_response(StatusCode::FORBIDDEN, &reason));
        }
        Err(rejection) => return Err(reject_caller(&rejection)),
    };
    if let Some(reason) = gateway.policy.unknown_tenant_reason(&caller) {
        return Err(error_response(StatusCode::FORBIDDEN, &reason));
    }
    // Command-line users need not declare the body's type. A web page must declare JSON, because a
    // browser sends JSON only after a preflight request.
    if let Some(kind) = browser_guard::non_json_type(request.headers())
        && browser_guard::is_from_browser(request.headers())
    {
        let kind = kind.to_owned();
        return Err(rejection_response(&Failure::ForeignBody { kind }));
    }
    let incoming = gateway.services.in_flight.track_upload(&caller);
    let body = request.into_body();
    let read = read_body(body, gateway.serve.max_body_bytes, incoming).await;
    let (bytes, reservation) = read.map_err(|failure| rejection_response(&failure))?;
    Ok(JsonPost {
        caller,
        bytes,
        _reservation: reservation,
    })
}

fn rejection_response(failure: &Failure) -> HttpResponse {
    error_response(rejection_status(failure), &failure.to_string())
}

pub(super) fn error_response(status: StatusCode, message: &str) -> HttpResponse {
    error_json(status, &json!({ "message": message }))
}

pub(super) fn error_json(status: StatusCode, error: &impl Serialize) -> HttpResponse {
    json_response(status, json!({ "error": error }).to_string())
}
