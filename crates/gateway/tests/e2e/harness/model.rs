//! An endpoint where a model seems to be: it speaks Anthropic's and OpenAI's formats and says what
//! a test wants it to.

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

/// What the model says to a request.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    Call(String, Value),
    /// A call whose arguments break off.
    Broken(&'static str),
    Words,
    Status(u16),
    /// Too many requests; try again then.
    Busy(u16, String),
    /// An answer word for word.
    Body(Value),
    /// Nothing, ever.
    Nothing,
    /// Something that is no answer.
    Nonsense,
}

/// A request as a script sees it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) prompt: String,
    /// What a failed call came to, if one did.
    pub(crate) error: Option<String>,
    /// How often this was asked before.
    pub(crate) before: usize,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

/// Ends with the test.
pub(crate) struct Model {
    /// The base address, for both formats.
    pub(crate) url: String,
    seen: Arc<Seen>,
    serving: tokio::task::JoinHandle<()>,
}

type Script = Box<dyn Fn(&Asked) -> Say + Send + Sync>;

struct Seen {
    script: Mutex<Script>,
    asked: Mutex<Vec<Asked>>,
    /// Requests that wait for each other before any is answered.
    together: Barrier,
}

impl Model {
    pub(crate) const INPUT: u64 = 100;
    pub(crate) const OUTPUT: u64 = 10;

    pub(crate) async fn start(script: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        Self::answering_together(1, script).await
    }

    /// Answers only when so many requests are there.
    pub(crate) async fn answering_together(
        number: usize,
        script: impl Fn(&Asked) -> Say + Send + Sync + 'static,
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

    pub(crate) fn becomes(&self, script: impl Fn(&Asked) -> Say + Send + Sync + 'static) {
        *self.seen.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
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
    let error = body
        .pointer("/messages/2/content/0/content")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if error.is_some() {
        let (call, result) = (
            &body["messages"][1]["content"][0],
            &body["messages"][2]["content"][0],
        );
        assert_eq!(call["id"], result["tool_use_id"]);
    }
    answer(&seen, (uri, headers), body, error, |say| {
        let call = |name: &str, input: Value| json!([{ "type": "tool_use", "id": "t1", "name": name, "input": input }]);
        let content = match say {
            Say::Call(name, arguments) => call(&name, arguments),
            Say::Broken(name) => call(name, json!("{\"message\":")),
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
    let error = body
        .pointer("/messages/2/content")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if error.is_some() {
        assert_eq!(
            body["messages"][1]["tool_calls"][0]["id"],
            body["messages"][2]["tool_call_id"]
        );
    }
    answer(&seen, (uri, headers), body, error, |say| {
        let call = |name: &str, arguments: String| {
            let function = json!({ "name": name, "arguments": arguments });
            let call = json!({ "id": "c1", "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        };
        let message = match say {
            Say::Call(name, arguments) => call(&name, arguments.to_string()),
            Say::Broken(name) => call(name, "{\"message\":".to_owned()),
            _ => json!({ "role": "assistant", "content": "I would rather talk." }),
        };
        let usage = json!({ "prompt_tokens": Model::INPUT, "completion_tokens": Model::OUTPUT });
        json!({ "choices": [{ "index": 0, "message": message }], "usage": usage })
    })
    .await
}

async fn answer(
    seen: &Seen,
    (uri, headers): (Uri, HeaderMap),
    body: Value,
    error: Option<String>,
    write: impl Fn(Say) -> Value,
) -> Response {
    let prompt = body["messages"][0]["content"].as_str().unwrap().to_owned();
    let key = headers
        .get("x-api-key")
        .or(headers.get("authorization"))
        .map(|it| it.to_str().unwrap().to_owned());
    let say = {
        let mut asked = seen.asked.lock().unwrap();
        let same = |it: &&Asked| it.prompt == prompt && it.error.is_some() == error.is_some();
        let before = asked.iter().filter(same).count();
        let new = Asked {
            prompt,
            error,
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
        Say::Nothing => std::future::pending().await,
        Say::Nonsense => "<html>hello</html>".into_response(),
        Say::Status(status) => {
            let told =
                json!({ "error": { "message": format!("no, {}", key.unwrap_or_default()) } });
            (StatusCode::from_u16(status).unwrap(), told.to_string()).into_response()
        }
        Say::Busy(status, seconds) => (
            StatusCode::from_u16(status).unwrap(),
            [("retry-after", seconds)],
        )
            .into_response(),
        Say::Body(body) => body.to_string().into_response(),
        said => write(said).to_string().into_response(),
    }
}
