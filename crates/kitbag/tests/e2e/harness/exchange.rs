//! The reply to a client: one message or a stream of them, as exact text.

use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::PATIENCE;
use super::pipe::Pipe;

/// A request in progress. Dropping it closes the connection, which is how modern clients cancel.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Zero over stdio.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Whole(Option<String>),
    Events {
        response: reqwest::Response,
        buffer: Vec<u8>,
        last_id: Option<String>,
    },
    Pipe {
        pipe: Arc<Pipe>,
        id: Option<Value>,
    },
}

pub(crate) async fn post(
    http: &reqwest::Client,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Exchange {
    let request = headers
        .iter()
        .fold(http.post(url).body(body), |it, (name, value)| {
            it.header(*name, *value)
        });
    Exchange::read(request).await
}

impl Exchange {
    pub(super) async fn read(request: reqwest::RequestBuilder) -> Self {
        let response = timeout(PATIENCE, request.send())
            .await
            .expect("an answer in time")
            .unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let streams = headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let source = if streams {
            Source::Events {
                response,
                buffer: Vec::new(),
                last_id: None,
            }
        } else {
            let body = timeout(PATIENCE, response.text())
                .await
                .expect("a body in time")
                .unwrap();
            Source::Whole(Some(body).filter(|body| !body.is_empty()))
        };
        Self {
            status,
            headers,
            source,
        }
    }

    /// Reads the pipe up to the answer with this id.
    pub(super) fn on_pipe(pipe: Arc<Pipe>, id: Value) -> Self {
        Self {
            status: 0,
            headers: HeaderMap::new(),
            source: Source::Pipe { pipe, id: Some(id) },
        }
    }

    /// The next message, as exact text.
    pub(crate) async fn next(&mut self) -> Option<String> {
        match &mut self.source {
            Source::Whole(message) => message.take(),
            Source::Events {
                response,
                buffer,
                last_id,
            } => {
                let event = timeout(PATIENCE, next_event(response, buffer, last_id));
                event.await.expect("something on the stream in time")
            }
            Source::Pipe { pipe, id } => {
                let line = if id.is_some() {
                    pipe.line().await?
                } else {
                    return None;
                };
                let message: Envelope<'_> = serde_json::from_str(&line).unwrap_or_default();
                if message.method.is_none() && message.id == *id {
                    *id = None;
                }
                Some(line)
            }
        }
    }

    /// The id of the last event, for resuming the stream.
    pub(crate) fn last_id(&self) -> Option<&str> {
        match &self.source {
            Source::Events { last_id, .. } => last_id.as_deref(),
            Source::Whole(_) | Source::Pipe { .. } => None,
        }
    }

    /// Reads until a message with this method.
    pub(crate) async fn wait_for(&mut self, method: &str) -> Value {
        while let Some(message) = self.next().await {
            let message: Value = serde_json::from_str(&message).unwrap();
            if message["method"] == method {
                return message;
            }
        }
        panic!("the stream ended without {method}");
    }

    /// Reads to the end without answering questions.
    pub(crate) async fn finish(mut self) -> Reply {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        Reply {
            status: self.status,
            headers: self.headers,
            messages,
        }
    }
}

async fn next_event(
    response: &mut reqwest::Response,
    buffer: &mut Vec<u8>,
    last_id: &mut Option<String>,
) -> Option<String> {
    let mut searched = 0;
    loop {
        while let Some(end) = buffer[searched..]
            .windows(2)
            .position(|pair| pair == b"\n\n")
        {
            let event: Vec<u8> = buffer.drain(..searched + end + 2).collect();
            searched = 0;
            let event = String::from_utf8(event).unwrap();
            if let Some(id) = event.lines().find_map(|line| line.strip_prefix("id: ")) {
                *last_id = Some(id.to_owned());
            }
            let data: Vec<&str> = event
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .collect();
            if !data.is_empty() {
                return Some(data.join("\n"));
            }
        }
        // Events may be large and arrive in many pieces.
        searched = buffer.len().saturating_sub(1);
        match response.chunk().await {
            Ok(Some(chunk)) => buffer.extend_from_slice(&chunk),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// All messages in reply to one request, in order; the last is the answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) messages: Vec<String>,
}

/// A message decoded as little as possible: results may contain values that Rust cannot parse.
#[derive(Default, Deserialize)]
struct Envelope<'a> {
    id: Option<Value>,
    method: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

impl Reply {
    /// The last message as text; for HTTP errors, the body.
    #[track_caller]
    pub(crate) fn raw(&self) -> &str {
        self.messages
            .last()
            .unwrap_or_else(|| panic!("no answer at all, status {}", self.status))
    }

    /// The exact text of the result.
    #[track_caller]
    pub(crate) fn raw_result(&self) -> &str {
        let envelope: Envelope<'_> = serde_json::from_str(self.raw()).expect("a JSON-RPC message");
        envelope
            .result
            .unwrap_or_else(|| panic!("not a result: {}", self.raw()))
            .get()
    }

    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        serde_json::from_str(self.raw_result()).unwrap()
    }

    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let envelope: Envelope<'_> = serde_json::from_str(self.raw()).expect("a JSON-RPC message");
        envelope
            .error
            .unwrap_or_else(|| panic!("not an error: {}", self.raw()))
    }

    #[track_caller]
    pub(crate) fn code(&self) -> i64 {
        self.error()["code"].as_i64().unwrap()
    }

    /// The text of a successful tool result.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        let result = self.result();
        assert_ne!(result["isError"], true, "{result}");
        content(&result)
    }

    /// The text of a failed tool result.
    #[track_caller]
    pub(crate) fn tool_error(&self) -> String {
        let result = self.result();
        assert_eq!(result["isError"], true, "{result}");
        content(&result)
    }

    /// The text of a tool result, successful or failed.
    #[track_caller]
    pub(crate) fn tool_text(&self) -> String {
        content(&self.result())
    }

    /// The messages before the answer: notifications, and requests by the server.
    pub(crate) fn before(&self) -> Vec<Value> {
        let (_, before) = self.messages.split_last().expect("an answer");
        before
            .iter()
            .map(|message| serde_json::from_str(message).unwrap())
            .collect()
    }

    /// The params of all notifications of one method, in order.
    pub(crate) fn notifications(&self, method: &str) -> Vec<Value> {
        self.before()
            .into_iter()
            .filter(|message| message["method"] == method && message.get("id").is_none())
            .map(|message| message["params"].clone())
            .collect()
    }
}

fn content(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}
