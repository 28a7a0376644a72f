//! A fake HTTP API that records its requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Method, Uri, header};
use serde_json::{Value, json};

/// Ends with the test.
#[derive(Debug)]
pub(crate) struct Api {
    /// Ends in `/v1`.
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Api {
    pub(crate) async fn start() -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let router = Router::new()
            .route("/v1/items", any(items))
            .route("/v1/large", any(large))
            .route("/v1/away", any(away))
            .route("/v1/rude", any(rude))
            .route("/v1/mirror", any(mirror))
            .route("/v1/admin/{name}", any(items))
            .route("/hidden/{name}", any(items))
            .with_state(seen.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    /// Its `[providers.NAME]` table.
    pub(crate) fn table(&self, name: &str, settings: &str) -> String {
        format!("[providers.{name}]\nurl = \"{}\"\n{settings}\n", self.url)
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Number of items in `/large`; about five megabytes in total.
    pub(crate) const MANY: usize = 100_000;
}

impl Drop for Api {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Memory = State<Arc<Mutex<Vec<Seen>>>>;

fn remember(memory: &Memory, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) {
    let (method, uri, headers) = (method.clone(), uri.clone(), headers.clone());
    let body = String::from_utf8_lossy(body).into_owned();
    memory.lock().unwrap().push(Seen {
        method,
        uri,
        headers,
        body,
    });
}

/// Echoes the request.
async fn items(
    memory: Memory,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    remember(&memory, &method, &uri, &headers, &body);
    let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = json!({ "method": method.as_str(), "query": uri.query(), "body": sent });
    (
        [(header::CONTENT_TYPE, "application/json")],
        answer.to_string(),
    )
        .into_response()
}

async fn large() -> Response {
    let items: Vec<Value> = (0..Api::MANY)
        .map(|id| json!({ "id": id, "note": "one of very many of these" }))
        .collect();
    (
        [(header::CONTENT_TYPE, "application/json")],
        json!(items).to_string(),
    )
        .into_response()
}

/// Redirects to the location in the query.
async fn away(
    memory: Memory,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    remember(&memory, &method, &uri, &headers, &body);
    let asked = reqwest::Url::parse(&format!("http://here{uri}")).unwrap();
    let to = asked
        .query_pairs()
        .find(|(name, _)| name == "to")
        .unwrap()
        .1
        .into_owned();
    Redirect::temporary(&to).into_response()
}

/// Returns the received secret in every usual encoding, and reverses a word.
async fn mirror(headers: HeaderMap) -> Response {
    let token = headers[header::AUTHORIZATION]
        .to_str()
        .unwrap()
        .trim_start_matches("Bearer ")
        .to_owned();
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    let answer = json!({
        "login": headers[header::AUTHORIZATION].to_str().unwrap(),
        "pair": STANDARD.encode(format!("ann:{token}")),
        "token": STANDARD.encode(&token),
        "hex": hex,
        "hidden": "a\u{202e}b\u{e0041}c",
    });
    let link = format!("</next?token={token}>");
    ([("link", link)], answer.to_string()).into_response()
}

/// Answers every request with an error.
async fn rude(
    memory: Memory,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    remember(&memory, &method, &uri, &headers, &body);
    (http::StatusCode::FORBIDDEN, "you shall not pass").into_response()
}
