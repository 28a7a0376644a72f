//! A fake model endpoint with Anthropic's and OpenAI's APIs, whose answers a test chooses.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::sync::Barrier;

/// The model's answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum ModelReply {
    Call(String, Value),
    /// A call with truncated arguments.
    Broken(&'static str),
    Words,
    Status(u16),
    /// Too many requests; retry then.
    Busy(u16, String),
    /// This exact response.
    Body(Value),
    /// No response, ever.
    Nothing,
    /// Something that is not a response.
    Nonsense,
}

/// A request as a script sees it.
#[derive(Debug, Clone)]
pub(crate) struct ModelRequest {
    pub(crate) prompt: String,
    /// The result of a failed call, if any.
    pub(crate) error: Option<String>,
    /// The results of all calls so far.
    pub(crate) results: Vec<String>,
    /// How often this was asked before.
    pub(crate) before: usize,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

/// Ends with the test.
pub(crate) struct Model {
    /// The base address, for both APIs.
    pub(crate) url: String,
    seen: Arc<Seen>,
    serving: tokio::task::JoinHandle<()>,
}

type Script = Box<dyn Fn(&ModelRequest) -> ModelReply + Send + Sync>;

struct Seen {
    script: Mutex<Script>,
    asked: Mutex<Vec<ModelRequest>>,
    /// Requests that wait for each other before any is answered.
    together: Barrier,
}

impl Model {
    pub(crate) const INPUT: u64 = 100;
    pub(crate) const OUTPUT: u64 = 10;

    pub(crate) async fn start(
        script: impl Fn(&ModelRequest) -> ModelReply + Send + Sync + 'static,
    ) -> Self {
        Self::answering_together(1, script).await
    }

    /// Answers only once this many requests are waiting.
    pub(crate) async fn answering_together(
        number: usize,
        script: impl Fn(&ModelRequest) -> ModelReply + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::new(Seen {
            script: Mutex::new(Box::new(script)),
            asked: Mutex::default(),
            together: Barrier::new(number),
        });
        let router = Router::new()
            .route("/v1/messages", post(anthropic))
            .route("/v1/chat/completions", post(openai))
            .route("/openai/deployments/{name}/chat/completions", post(openai))
            .with_state(seen.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, seen, serving }
    }

    pub(crate) fn set_script(
        &self,
        script: impl Fn(&ModelRequest) -> ModelReply + Send + Sync + 'static,
    ) {
        *self.seen.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.seen.asked.lock().unwrap().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn anthropic(
    State(seen): State<Arc<Seen>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["max_tokens"].is_u64() && headers.contains_key("anthropic-version"));
    let results = anthropic_results(&body["messages"]);
    let id = format!("t{}", results.len() + 1);
    answer(&seen, (uri, headers), body, results, |say| {
        let call = |name: &str, input: Value| json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        let content = match say {
            ModelReply::Call(name, arguments) => call(&name, arguments),
            ModelReply::Broken(name) => call(name, json!("{\"message\":")),
            _ => json!([{ "type": "text", "text": "I would rather talk." }]),
        };
        let usage = json!({ "input_tokens": Model::INPUT, "output_tokens": Model::OUTPUT });
        json!({ "role": "assistant", "content": content, "usage": usage })
    })
    .await
}

async fn openai(
    State(seen): State<Arc<Seen>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let results = openai_results(&body["messages"]);
    let id = format!("c{}", results.len() + 1);
    answer(&seen, (uri, headers), body, results, |say| {
        let call = |name: &str, arguments: String| {
            let function = json!({ "name": name, "arguments": arguments });
            let call = json!({ "id": id, "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        };
        let message = match say {
            ModelReply::Call(name, arguments) => call(&name, arguments.to_string()),
            ModelReply::Broken(name) => call(name, "{\"message\":".to_owned()),
            _ => json!({ "role": "assistant", "content": "I would rather talk." }),
        };
        let usage = json!({ "prompt_tokens": Model::INPUT, "completion_tokens": Model::OUTPUT });
        json!({ "choices": [{ "index": 0, "message": message }], "usage": usage })
    })
    .await
}

/// The results of calls, each of which must directly follow the answer with the call, as the vendor
/// requires.
fn anthropic_results(messages: &Value) -> Vec<String> {
    let ids = |blocks: &Value, kind: &str, key: &str| -> Vec<Value> {
        let blocks = blocks
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["type"] == kind);
        blocks.map(|it| it[key].clone()).collect()
    };
    let mut output = Vec::new();
    for pair in messages.as_array().unwrap()[1..].chunks(2) {
        let [said, results] = pair else {
            panic!("an answer without results: {messages}")
        };
        assert_eq!(
            (&said["role"], &results["role"]),
            (&json!("assistant"), &json!("user"))
        );
        assert_eq!(
            ids(&said["content"], "tool_use", "id"),
            ids(&results["content"], "tool_result", "tool_use_id")
        );
        let results = results["content"].as_array().unwrap().iter();
        output.extend(results.map(|it| it["content"].as_str().unwrap().to_owned()));
    }
    output
}

/// The same for OpenAI.
fn openai_results(messages: &Value) -> Vec<String> {
    let (mut output, mut wanted) = (Vec::new(), Vec::new());
    for message in &messages.as_array().unwrap()[1..] {
        if message["role"] == "tool" {
            assert_eq!(
                wanted.pop(),
                Some(message["tool_call_id"].clone()),
                "{messages}"
            );
            output.push(message["content"].as_str().unwrap().to_owned());
        } else {
            assert!(wanted.is_empty(), "calls without results: {messages}");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            wanted = calls.map(|it| it["id"].clone()).collect();
            wanted.reverse();
        }
    }
    assert!(wanted.is_empty(), "calls without results: {messages}");
    output
}

async fn answer(
    seen: &Seen,
    (uri, headers): (Uri, HeaderMap),
    body: Value,
    results: Vec<String>,
    write: impl Fn(ModelReply) -> Value,
) -> Response {
    let error = results.first().cloned();
    let prompt = body["messages"][0]["content"].as_str().unwrap().to_owned();
    let key = headers
        .get("x-api-key")
        .or(headers.get("authorization"))
        .map(|it| it.to_str().unwrap().to_owned());
    let say = {
        let mut asked = seen.asked.lock().unwrap();
        let same =
            |it: &&ModelRequest| it.prompt == prompt && it.error.is_some() == error.is_some();
        let before = asked.iter().filter(same).count();
        let new = ModelRequest {
            prompt,
            error,
            results,
            before,
            uri,
            headers,
            body,
            at: Instant::now(),
        };
        asked.push(new.clone());
        (seen.script.lock().unwrap())(&new)
    };
    seen.together.wait().await;
    match say {
        ModelReply::Nothing => std::future::pending().await,
        ModelReply::Nonsense => "<html>hello</html>".into_response(),
        ModelReply::Status(status) => {
            let output =
                json!({ "error": { "message": format!("no, {}", key.unwrap_or_default()) } });
            (StatusCode::from_u16(status).unwrap(), output.to_string()).into_response()
        }
        ModelReply::Busy(status, seconds) => (
            StatusCode::from_u16(status).unwrap(),
            [("retry-after", seconds)],
        )
            .into_response(),
        ModelReply::Body(body) => body.to_string().into_response(),
        said => write(said).to_string().into_response(),
    }
}
