//! Bad input over HTTP.
//!
//! # Layout
//! - [`messages`]: bodies that are not valid messages
//! - [`modern`]: headers and `_meta` of modern requests
//! - [`transport`]: sessions, HTTP methods, sizes, connections

mod messages;
mod modern;
mod transport;

use serde_json::{Value, json};

use crate::harness::{Era, Gateway, Reply, Testbed};

/// The expected error response.
struct Expect {
    status: u16,
    /// The JSON-RPC code, if the response is a JSON-RPC message.
    code: Option<i64>,
    /// The id, if it could be read.
    id: Value,
    words: &'static str,
}

fn rpc_error(status: u16, code: i64, words: &'static str) -> Expect {
    Expect {
        status,
        code: Some(code),
        id: Value::Null,
        words,
    }
}

fn http_error(status: u16, words: &'static str) -> Expect {
    Expect {
        status,
        code: None,
        id: Value::Null,
        words,
    }
}

impl Expect {
    fn id(mut self, id: impl Into<Value>) -> Self {
        self.id = id.into();
        self
    }

    #[track_caller]
    fn check(&self, reply: &Reply, what: &str) {
        let body = reply.messages.last().cloned().unwrap_or_default();
        assert_eq!(reply.status, self.status, "{what}: {body}");
        assert!(body.contains(self.words), "{what}: {body}");
        if let Some(code) = self.code {
            assert_eq!(reply.code(), code, "{what}: {body}");
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(answer["jsonrpc"], "2.0", "{what}: {body}");
            assert_eq!(answer["id"], self.id, "{what}: {body}");
        }
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

async fn gateway() -> Gateway {
    Gateway::with(&Testbed::new("good").table()).await
}

async fn still_works(gateway: &Gateway, what: &str) {
    for era in Era::each() {
        let client = gateway.client(era).await;
        client.knows("good__echo").await;
        assert_eq!(
            client.call("good__echo", &json!({ "a": 1 })).await.text(),
            r#"{"a":1}"#,
            "after {what}"
        );
    }
}
