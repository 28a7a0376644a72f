//! The messages of JSON-RPC: requests, notifications and responses.

use serde::{Deserialize, Serialize};

use crate::envelope::{Envelope, MalformedMessage};
use crate::nesting::is_too_deep;
use crate::object::{Raw, RawObject, raw};
use crate::request_id::RequestId;

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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorObject {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Raw>,
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        Envelope::from_bytes(bytes)?.into_message()
    }

    /// Like [`parse`](Self::parse), for a message that the gateway forwards: rejects one that is
    /// nested too deeply for the receiver's parser.
    pub fn parse_shallow(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        let message = Self::parse(bytes)?;
        if !is_too_deep(bytes) {
            return Ok(message);
        }
        let id = match message {
            Self::Request(request) => Some(request.id),
            Self::Notification(_) | Self::Response(_) => None,
        };
        Err(MalformedMessage::TooDeep { id })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("messages are plain JSON")
    }

    /// Writes the message on one line, however its JSON was formatted. Strings in JSON contain no
    /// line breaks, so every line break is white space and becomes a space.
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

    /// Opens the params as an object; absent params count as an empty one.
    pub fn open_params(&self) -> Result<RawObject, serde_json::Error> {
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

    pub fn open_params(&self) -> Result<RawObject, serde_json::Error> {
        RawObject::open_or_empty(self.params.as_deref())
    }
}

impl Response {
    pub fn from_result(id: RequestId, result: Raw) -> Self {
        Self {
            id: Some(id),
            outcome: Ok(result),
        }
    }

    pub fn from_error(id: Option<RequestId>, error: ErrorObject) -> Self {
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
    fn bytes_that_are_not_a_message_are_rejected_with_a_reason() {
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
    fn a_message_formatted_on_several_lines_becomes_one_line() {
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
