//! Headers and bodies as a conforming client writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_wire::{RawObject, meta};
use serde_json::{Value, json};

use super::{Client, Connection, Era};

impl Client {
    /// The headers that a conforming client sends with this request.
    pub(crate) fn headers(&self, method: &str, params: &Value) -> Vec<(String, String)> {
        let mut headers = vec![
            (
                "accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        if let Connection::Http { key, session, .. } = &self.connection {
            headers.extend(
                key.iter()
                    .map(|key| ("authorization".to_owned(), format!("Bearer {key}"))),
            );
            headers.extend(
                session
                    .iter()
                    .map(|id| ("mcp-session-id".to_owned(), id.clone())),
            );
        }
        match self.era {
            Era::Legacy if self.greeting.is_null() => {}
            Era::Legacy => {
                headers.push(("mcp-protocol-version".to_owned(), self.version.to_owned()));
            }
            Era::Modern => {
                headers.push(("mcp-protocol-version".to_owned(), MODERN.to_owned()));
                headers.push(("mcp-method".to_owned(), method.to_owned()));
                let subject = params
                    .get("name")
                    .or(params.get("uri"))
                    .or(params.get("taskId"));
                if let Some(subject) = subject.and_then(Value::as_str) {
                    headers.push(("mcp-name".to_owned(), header_text(subject)));
                }
            }
        }
        headers
    }

    /// The body that a conforming client sends; in the modern era with `_meta`.
    pub(crate) fn body(&self, id: i64, method: &str, params: &str) -> String {
        let params = match self.era {
            Era::Legacy => params.to_owned(),
            Era::Modern => self.with_meta(params),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method:?},"params":{params}}}"#)
    }

    /// Adds our `_meta` keys to the params and leaves every other byte unchanged.
    fn with_meta(&self, params: &str) -> String {
        let mut ours = RawObject::new()
            .with(meta::PROTOCOL_VERSION, MODERN)
            .with(meta::CLIENT_CAPABILITIES, &self.capabilities)
            .with(
                meta::CLIENT_INFO,
                &json!({ "name": self.name, "version": "1" }),
            );
        if let Some(level) = &self.log_level {
            ours.put(meta::LOG_LEVEL, level);
        }
        let mut params: RawObject = serde_json::from_str(params).expect("params are an object");
        for (key, value) in params.get_object("_meta").unwrap_or_default() {
            ours.set(&key, value);
        }
        params.put("_meta", &ours);
        params.to_raw().get().to_owned()
    }
}

/// The members of the params that headers repeat; the rest may contain numbers that Rust cannot parse.
pub(super) fn subject(params: &str) -> Value {
    let params: RawObject = serde_json::from_str(params).unwrap_or_default();
    let member = |name: &'static str| Some((name, params.read::<Value>(name)?));
    ["name", "uri", "taskId"]
        .into_iter()
        .filter_map(member)
        .collect()
}

/// The text, encoded if it is not valid in a header.
fn header_text(text: &str) -> String {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(text))
    }
}

const MODERN: &str = "2026-07-28";
