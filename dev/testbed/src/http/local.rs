//! Rejects requests that a web page could make a browser send.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) async fn only_local(request: Request, next: Next) -> Response {
    if is_local(request.headers()) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "only for this machine").into_response()
    }
}

fn is_local(headers: &HeaderMap) -> bool {
    let host = text(headers, header::HOST);
    let origin = text(headers, header::ORIGIN);
    host.is_none_or(names_this_machine) && origin.is_none_or(is_origin_of_this_machine)
}

/// Returns a header as text; one that is not text names no host.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let value = headers.get(name)?;
    Some(value.to_str().unwrap_or_default())
}

fn is_origin_of_this_machine(origin: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(names_this_machine)
}

fn names_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}
