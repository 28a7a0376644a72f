//! A web server that answers by a script and records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::{Value, json};
use url::Url;

use super::HOME;

pub(super) struct Site {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as it arrived.
#[derive(Clone)]
pub(super) struct Seen {
    /// `GET /v1/items?page=2`
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// Gets the number of the request, from 0, and the request.
type Script = Arc<dyn Fn(usize, &Seen) -> Response<Body> + Send + Sync>;

impl Site {
    pub(super) async fn open(
        script: impl Fn(usize, &Seen) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Script = Arc::new(script);
        let router = Router::new()
            .fallback(answer)
            .with_state((script, seen.clone()));
        let listener = tokio::net::TcpListener::bind((HOME, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, seen }
    }

    /// A server that another part of the test runs.
    pub(super) fn at(address: SocketAddr) -> Self {
        let seen = Arc::default();
        Self { address, seen }
    }

    /// Shows each request in its answer.
    pub(super) async fn echo() -> Self {
        Self::open(|_, seen| reply(200, &[], shown(seen).to_string())).await
    }

    pub(super) fn url(&self, path: &str) -> Url {
        format!("http://{}{path}", self.address).parse().unwrap()
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn answer(
    State((script, seen)): State<(Script, Arc<Mutex<Vec<Seen>>>)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let now = Seen {
        line: format!("{method} {uri}"),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let number = {
        let mut seen = seen.lock().unwrap();
        seen.push(now.clone());
        seen.len() - 1
    };
    script(number, &now)
}

fn shown(seen: &Seen) -> Value {
    let names = seen.headers.keys();
    let headers: serde_json::Map<String, Value> = names
        .map(|name| (name.to_string(), json!(seen.header(name.as_str()))))
        .collect();
    json!({ "line": seen.line, "headers": headers, "body": seen.body })
}

pub(super) fn reply(
    status: u16,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

pub(super) fn json_reply(body: &Value) -> Response<Body> {
    reply(
        200,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}
