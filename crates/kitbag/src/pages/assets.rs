//! Style, script and icon. Their paths contain a hash of their content, so browsers keep them until
//! the next version.

use std::sync::LazyLock;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use super::Pages;
use super::visitor::with_security_headers;

pub(super) struct Asset {
    pub(super) path: String,
    kind: &'static str,
    content: &'static str,
}

pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "style.css",
        "text/css; charset=utf-8",
        include_str!("assets/style.css"),
    )
});
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "script.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/script.js"),
    )
});
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    fn new(name: &str, kind: &'static str, content: &'static str) -> Self {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        Self {
            path: format!("/ui/assets/{}-{name}", &hash[..8]),
            kind,
            content,
        }
    }

    fn respond(&self) -> Response {
        let answer = ([(CONTENT_TYPE, self.kind)], self.content).into_response();
        let mut answer = with_security_headers(answer);
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        answer.headers_mut().insert(CACHE_CONTROL, forever);
        answer
    }
}

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(&STYLE.path, get(|| async { STYLE.respond() }))
        .route(&SCRIPT.path, get(|| async { SCRIPT.respond() }))
        .route(&ICON.path, get(|| async { ICON.respond() }))
}
