//! All model providers in one fake: each answers in its documented format, or as a test sets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode, Uri, header};
use serde_json::{Value, json};

/// Ends with the test. The first path segment is the id of the provider's file.
pub(super) struct FakeProviders {
    base: String,
    seen: Arc<SeenPrompts>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Clone)]
pub(super) struct SeenPrompt {
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

#[derive(Default)]
struct SeenPrompts {
    prompts: Mutex<Vec<SeenPrompt>>,
    /// Providers that reject everything, each with a status and a body.
    refusing: Mutex<HashMap<String, (u16, Value)>>,
}

impl FakeProviders {
    pub(super) async fn start() -> Self {
        let seen = Arc::<SeenPrompts>::default();
        let router = Router::new().fallback(answer).with_state(seen.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            base,
            seen,
            serving,
        }
    }

    /// The tables that point to this fake instead of the real providers.
    pub(super) fn endpoints(&self) -> String {
        let providers = ["anthropic", "gemini", "deepseek", "groq", "workers-ai"];
        let tables = providers.map(|id| {
            let url = &self.base;
            format!("[endpoints.{id}]\nurl = '{url}/{id}'\nallow_private = true\n")
        });
        tables.concat()
    }

    pub(super) fn refuses(&self, provider: &str, status: u16, body: Value) {
        let mut refusing = self.seen.refusing.lock().unwrap();
        refusing.insert(provider.to_owned(), (status, body));
    }

    /// Returns the requests since the last call.
    pub(super) fn take_seen(&self) -> Vec<SeenPrompt> {
        std::mem::take(&mut self.seen.prompts.lock().unwrap())
    }

    /// Returns the providers that received requests since the last call.
    pub(super) fn take_asked(&self) -> Vec<String> {
        let seen = self.take_seen();
        let asked = seen.iter().map(|it| provider(&it.line).to_owned());
        asked.collect()
    }
}

impl Drop for FakeProviders {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn provider(line: &str) -> &str {
    line.split('/').nth(1).unwrap()
}

async fn answer(
    State(seen): State<Arc<SeenPrompts>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let line = format!("{method} {uri}");
    let provider = provider(&line).to_owned();
    seen.prompts.lock().unwrap().push(SeenPrompt {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    let refusal = seen.refusing.lock().unwrap().get(&provider).cloned();
    let (status, body) = refusal.unwrap_or_else(|| (200, in_shape(&provider)));
    let status = StatusCode::from_u16(status).unwrap();
    let json = [(header::CONTENT_TYPE, "application/json")];
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = [(header::RETRY_AFTER, "60")];
            (status, wait, json, body.to_string()).into_response()
        }
        _ => (status, json, body.to_string()).into_response(),
    }
}

/// A provider's answer in its own format: a thousand tokens in, a hundred out.
fn in_shape(provider: &str) -> Value {
    let text = format!("From {provider}.");
    match provider {
        "anthropic" => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": text }],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": { "input_tokens": 1000, "output_tokens": 100 },
        }),
        "gemini" => json!({
            "candidates": [{
                "content": { "parts": [{ "text": "From " }, { "text": "gemini." }], "role": "model" },
                "finishReason": "STOP",
                "groundingMetadata": { "webSearchQueries": ["race"], "groundingChunks": [] },
            }],
            "usageMetadata": {
                "promptTokenCount": 1000, "candidatesTokenCount": 60, "thoughtsTokenCount": 40, "totalTokenCount": 1100,
            },
        }),
        _ => json!({
            "id": "c1", "object": "chat.completion", "model": "m",
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100 },
        }),
    }
}
