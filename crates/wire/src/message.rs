//! The JSON-RPC envelope, from bytes and back.
//!
//! Reading is strict about what makes a message (so that stray output of a server is
//! never taken for one) and indifferent to what it carries.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::nesting::{MAX_NESTING, is_too_deep};
use crate::object::{Raw, RawObject, raw};

#[derive(Debug, Clone)]
pub enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

#[derive(Debug, Clone)]
pub struct Request {
    pub id: RequestId,
    pub method: String,
    pub params: Option<Raw>,
}

#[derive(Debug, Clone)]
pub struct Notification {
    pub method: String,
    pub params: Option<Raw>,
}

#[derive(Debug, Clone)]
pub struct Response {
    /// Absent only in an error about a message whose id could not be read.
    pub id: Option<RequestId>,
    pub outcome: Result<Raw, ErrorObject>,
}

/// JSON-RPC ids are strings or integers; the two never equal each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorObject {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Raw>,
}

/// Why bytes are not a message. `id` is there when it could be read, so that the
/// sender can be told which of its requests was wrong.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    #[error("the message is not valid JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("JSON-RPC batches are not part of MCP since 2025-06-18; send one message at a time")]
    Batch,
    #[error("not a JSON-RPC message: {why}")]
    NotJsonRpc {
        why: &'static str,
        id: Option<RequestId>,
    },
    #[error(
        "the message is nested deeper than {MAX_NESTING} levels; send the same in a flatter shape"
    )]
    TooDeep { id: Option<RequestId> },
}

impl Malformed {
    /// The id of the request that was wrong, as far as it could be read.
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::NotJson(_) | Self::Batch => None,
            Self::NotJsonRpc { id, .. } | Self::TooDeep { id } => id.as_ref(),
        }
    }
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let envelope: Envelope =
            serde_json::from_slice(bytes).map_err(|error| not_an_envelope(bytes, error))?;
        envelope.into_message()
    }

    /// Like [`parse`](Self::parse), for a sender whose words are handed on to others: what is
    /// nested too deep for them is refused.
    pub fn parse_shallow(bytes: &[u8]) -> Result<Self, Malformed> {
        let message = Self::parse(bytes)?;
        if !is_too_deep(bytes) {
            return Ok(message);
        }
        let id = match message {
            Self::Request(request) => Some(request.id),
            Self::Notification(_) | Self::Response(_) => None,
        };
        Err(Malformed::TooDeep { id })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("messages are plain JSON")
    }

    /// One line, however the carried JSON was laid out: inside JSON a line break can
    /// only be white space, so a space says the same.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.to_bytes();
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line
    }
}

impl Request {
    pub fn new(id: impl Into<RequestId>, method: impl Into<String>, params: Option<Raw>) -> Self {
        Self {
            id: id.into(),
            method: method.into(),
            params,
        }
    }

    /// The params as an object; absent params are an empty one.
    pub fn object(&self) -> Result<RawObject, serde_json::Error> {
        RawObject::open_or_empty(self.params.as_deref())
    }
}

impl Notification {
    pub fn new(method: impl Into<String>, params: Option<Raw>) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }

    pub fn object(&self) -> Result<RawObject, serde_json::Error> {
        RawObject::open_or_empty(self.params.as_deref())
    }
}

impl Response {
    pub fn result(id: RequestId, result: Raw) -> Self {
        Self {
            id: Some(id),
            outcome: Ok(result),
        }
    }

    pub fn error(id: Option<RequestId>, error: ErrorObject) -> Self {
        Self {
            id,
            outcome: Err(error),
        }
    }
}

impl ErrorObject {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = Some(raw(data));
        self
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Id {
            Number(i64),
            // JavaScript peers may write a whole number as `1.0`.
            Float(f64),
            Text(String),
        }
        match Id::deserialize(deserializer)? {
            Id::Number(number) => Ok(Self::Number(number)),
            Id::Text(text) => Ok(Self::Text(text)),
            Id::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "whole and within ±2^53, checked above"
                )]
                Ok(Self::Number(number as i64))
            }
            Id::Float(_) => Err(D::Error::custom("a request id is a string or an integer")),
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Out<'a> {
            jsonrpc: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a RequestId>,
            #[serde(skip_serializing_if = "Option::is_none")]
            method: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            result: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a ErrorObject>,
        }
        let blank = Out {
            jsonrpc: "2.0",
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
        };
        match self {
            Self::Request(it) => Out {
                id: Some(&it.id),
                method: Some(&it.method),
                params: it.params.as_deref(),
                ..blank
            },
            Self::Notification(it) => Out {
                method: Some(&it.method),
                params: it.params.as_deref(),
                ..blank
            },
            Self::Response(it) => match &it.outcome {
                Ok(result) => Out {
                    id: it.id.as_ref(),
                    result: Some(result),
                    ..blank
                },
                Err(error) => Out {
                    id: it.id.as_ref(),
                    error: Some(error),
                    ..blank
                },
            },
        }
        .serialize(serializer)
    }
}

/// What arrives, before it is known which kind of message it is.
#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Raw>,
    #[serde(default, deserialize_with = "even_null")]
    id: Option<Raw>,
    method: Option<Raw>,
    params: Option<Raw>,
    #[serde(default, deserialize_with = "even_null")]
    result: Option<Raw>,
    error: Option<Raw>,
}

/// A member that is `null` is there all the same: a request whose id is null is no
/// notification, and a null result is an answer.
fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

impl Envelope {
    fn into_message(self) -> Result<Message, Malformed> {
        let id = self.id.as_deref().and_then(parse::<RequestId>);
        if self
            .jsonrpc
            .as_deref()
            .is_none_or(|version| version.get() != r#""2.0""#)
        {
            return Err(Malformed::NotJsonRpc {
                why: "`jsonrpc` must be \"2.0\"",
                id,
            });
        }
        let id_is_wrong = self.id.as_deref().is_some_and(|id| id.get() != "null") && id.is_none();
        if id_is_wrong {
            return Err(Malformed::NotJsonRpc {
                why: "`id` must be a string or an integer",
                id: None,
            });
        }
        if let Some(method) = &self.method {
            let Some(method) = parse::<String>(method) else {
                return Err(Malformed::NotJsonRpc {
                    why: "`method` must be a string",
                    id,
                });
            };
            let params = self.params.filter(|params| params.get() != "null");
            if params
                .as_deref()
                .is_some_and(|params| !params.get().starts_with('{'))
            {
                return Err(Malformed::NotJsonRpc {
                    why: "`params` must be an object",
                    id,
                });
            }
            return match (id, self.id) {
                (Some(id), _) => Ok(Message::Request(Request { id, method, params })),
                (None, Some(_)) => Err(Malformed::NotJsonRpc {
                    why: "`id` must not be null",
                    id: None,
                }),
                (None, None) => Ok(Message::Notification(Notification { method, params })),
            };
        }
        // Some servers write both members and leave one of them null.
        let result = self
            .result
            .filter(|result| self.error.is_none() || result.get() != "null");
        match (result, self.error) {
            (Some(result), None) if id.is_some() => Ok(Message::Response(Response {
                id,
                outcome: Ok(result),
            })),
            (None, Some(error)) => match parse::<ErrorObject>(&error) {
                Some(error) => Ok(Message::Response(Response {
                    id,
                    outcome: Err(error),
                })),
                None => Err(Malformed::NotJsonRpc {
                    why: "`error` must have a code and a message",
                    id,
                }),
            },
            (Some(_), Some(_)) => Err(Malformed::NotJsonRpc {
                why: "both `result` and `error` are present",
                id,
            }),
            (Some(_), None) => Err(Malformed::NotJsonRpc {
                why: "a result needs an `id`",
                id,
            }),
            (None, None) => Err(Malformed::NotJsonRpc {
                why: "neither `method`, `result` nor `error` is present",
                id,
            }),
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(json: &RawValue) -> Option<T> {
    serde_json::from_str(json.get()).ok()
}

/// Tells broken JSON from JSON that is something else, which are different mistakes.
fn not_an_envelope(bytes: &[u8], error: serde_json::Error) -> Malformed {
    match serde_json::from_slice::<&RawValue>(bytes) {
        Err(error) => Malformed::NotJson(error),
        Ok(json) if json.get().starts_with('[') => Malformed::Batch,
        Ok(json) if json.get().starts_with('{') => Malformed::NotJson(error),
        Ok(_) => Malformed::NotJsonRpc {
            why: "a message is a JSON object",
            id: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_round_trip(text: &str) {
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(message.to_bytes()).unwrap(), text);
    }

    #[track_caller]
    fn check_rejected(text: &str, why: &str) {
        let error = Message::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn a_message_is_written_as_it_was_read() {
        check_round_trip(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"b":1.0,"a":1e400}}"#,
        );
        check_round_trip(
            r#"{"jsonrpc":"2.0","id":"x","result":{"n":123456789012345678901234567890}}"#,
        );
        check_round_trip(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.10}}"#,
        );
        check_round_trip(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":[1.50]}}"#,
        );
        check_round_trip(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    }

    #[test]
    fn what_is_not_a_message_says_why() {
        check_rejected("Server listening on 3000", "not valid JSON");
        check_rejected(r#"{"level":"info","msg":"hello"}"#, "`jsonrpc` must be");
        check_rejected(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "batches");
        check_rejected(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            "string or an integer",
        );
        check_rejected(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "must not be null",
        );
        check_rejected(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            "`params` must be an object",
        );
        check_rejected(
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            "both",
        );
        check_rejected(r#"{"jsonrpc":"2.0","id":1}"#, "neither");
        check_rejected("42", "a message is a JSON object");
    }

    #[test]
    fn a_message_laid_out_over_lines_becomes_one_line() {
        let message = Message::parse(
            b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\n  \"a\": \"x\\ny\"\r\n}}",
        )
        .unwrap();
        assert_eq!(
            String::from_utf8(message.to_line()).unwrap(),
            "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{   \"a\": \"x\\ny\"  }}"
        );
    }

    proptest! {
        #[test]
        fn no_input_makes_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Message::parse(&bytes);
        }

        #[test]
        fn any_json_carried_in_a_message_survives(value in json()) {
            let params = serde_json::json!({ "carried": value });
            let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}"#);
            let again = Message::parse(text.as_bytes()).unwrap().to_bytes();
            prop_assert_eq!(String::from_utf8(again).unwrap(), text);
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".*".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::vec((".*", inner), 0..6)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }
}
