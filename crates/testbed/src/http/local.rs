//! Turns away what a web page could make a browser send to us.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
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
    let value = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    let host = value(header::HOST).is_none_or(names_this_machine);
    let origin = value(header::ORIGIN).is_none_or(|origin| {
        origin
            .split_once("://")
            .is_some_and(|(_, authority)| names_this_machine(authority))
    });
    host && origin
}

fn names_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}
