//! A test registry in the real format, with entries of every shape.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

/// A registry on this machine; it ends with the test.
#[derive(Debug)]
pub struct TestRegistry {
    pub url: String,
    received_searches: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct RegistryState {
    entries: Arc<Vec<Value>>,
    received_searches: Arc<Mutex<Vec<String>>>,
}

/// Small, so that there are several pages.
const PER_PAGE: usize = 3;

impl TestRegistry {
    pub async fn open() -> Self {
        let entries: Vec<Value> = serde_json::from_str(include_str!("entries.json")).unwrap();
        let state = RegistryState {
            entries: Arc::new(entries),
            received_searches: Arc::default(),
        };
        let received_searches = state.received_searches.clone();
        let router = Router::new()
            .route("/base/v0.1/servers", get(list_servers))
            .route(
                "/base/v0.1/servers/{name}/versions/{version}",
                get(get_server),
            )
            .with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/base", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            received_searches,
            serving,
        }
    }

    /// The received search texts, in order.
    pub fn searches(&self) -> Vec<String> {
        self.received_searches.lock().unwrap().clone()
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn list_servers(State(state): State<RegistryState>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let search = parameter(&query, "search").unwrap_or_default();
    let from: usize = parameter(&query, "cursor").map_or(0, |cursor| cursor.parse().unwrap());
    let limit: usize = parameter(&query, "limit").map_or(PER_PAGE, |limit| limit.parse().unwrap());
    assert_eq!(parameter(&query, "version").as_deref(), Some("latest"));
    if from == 0 {
        state.received_searches.lock().unwrap().push(search.clone());
    }
    if let Some(trouble) = error_response(&search) {
        return trouble;
    }
    let found: Vec<_> = state
        .entries
        .iter()
        .filter(|entry| matches_search(entry, &search.to_lowercase()))
        .collect();
    let page: Vec<_> = found.iter().skip(from).take(limit.min(PER_PAGE)).collect();
    let end = from + page.len();
    let next = if end < found.len() {
        json!(end.to_string())
    } else {
        Value::Null
    };
    axum::Json(json!({ "servers": page, "metadata": { "count": page.len(), "nextCursor": next } }))
        .into_response()
}

/// The latest version of each entry, and entries that are too odd to have a name.
fn matches_search(entry: &Value, search: &str) -> bool {
    let name = entry["server"]["name"]
        .as_str()
        .unwrap_or("weather")
        .to_lowercase();
    let official = &entry["_meta"]["io.modelcontextprotocol.registry/official"];
    official["isLatest"] != json!(false) && name.contains(search)
}

fn error_response(search: &str) -> Option<Response> {
    match search {
        "too-much" => Some((StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")]).into_response()),
        "broken" => Some(
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                axum::Json(json!({ "detail": "the database is away" })),
            )
                .into_response(),
        ),
        "page" => Some("<html>Welcome</html>".into_response()),
        _ => None,
    }
}

async fn get_server(
    State(state): State<RegistryState>,
    Path((name, version)): Path<(String, String)>,
) -> Response {
    let mut entries = state.entries.iter();
    match entries.find(|entry| is_version_of(entry, &name, &version)) {
        Some(entry) => axum::Json(entry).into_response(),
        None => (
            StatusCode::NOT_FOUND,
            axum::Json(json!({ "error": "Server not found" })),
        )
            .into_response(),
    }
}

fn parameter(query: &str, key: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, value) = pairs.find(|(name, _)| name == key)?;
    Some(value.into_owned())
}

fn is_version_of(entry: &Value, name: &str, version: &str) -> bool {
    let official = &entry["_meta"]["io.modelcontextprotocol.registry/official"];
    let wanted = match version {
        "latest" => official["isLatest"] != json!(false),
        version => entry["server"]["version"] == json!(version),
    };
    entry["server"]["name"] == json!(name) && wanted
}
