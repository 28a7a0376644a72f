//! The JSON-RPC envelope: parses bytes into a message, and writes messages.
//!
//! Parsing is strict, so that stray output of a server is never mistaken for a message.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::message::{ErrorObject, Message, Notification, Request, Response};
use crate::nesting::MAX_NESTING;
use crate::object::Raw;
use crate::request_id::RequestId;

/// Why bytes are not a message. `id` is set if it could be read, so that the error response can
/// name the request.
#[derive(Debug, thiserror::Error)]
pub enum MalformedMessage {
    #[error("the message is not valid JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("JSON-RPC batches are not part of MCP since 2025-06-18; send one message at a time")]
    Batch,
    #[error("not a JSON-RPC message: {why}")]
    NotJsonRpc {
        why: &'static str,
        id: Option<RequestId>,
    },
    #[error("the message is nested deeper than {MAX_NESTING} levels; send a flatter one")]
    TooDeep { id: Option<RequestId> },
}

impl MalformedMessage {
    /// Returns the id of the invalid request, if it could be read.
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::NotJson(_) | Self::Batch => None,
            Self::NotJsonRpc { id, .. } | Self::TooDeep { id } => id.as_ref(),
        }
    }

    fn not_json_rpc(why: &'static str, id: Option<RequestId>) -> Self {
        Self::NotJsonRpc { why, id }
    }

    /// Distinguishes invalid JSON from valid JSON that is not a message.
    fn from_json_error(bytes: &[u8], error: serde_json::Error) -> Self {
        match serde_json::from_slice::<&RawValue>(bytes) {
            Err(error) => Self::NotJson(error),
            Ok(json) if json.get().starts_with('[') => Self::Batch,
            Ok(json) if json.get().starts_with('{') => Self::NotJson(error),
            Ok(_) => Self::not_json_rpc("a message is a JSON object", None),
        }
    }
}

/// The members of an incoming message, before its kind is known.
#[derive(Deserialize)]
pub(crate) struct Envelope {
    jsonrpc: Option<Raw>,
    #[serde(default, deserialize_with = "null_as_present")]
    id: Option<Raw>,
    method: Option<Raw>,
    params: Option<Raw>,
    #[serde(default, deserialize_with = "null_as_present")]
    result: Option<Raw>,
    error: Option<Raw>,
}

/// Treats a `null` member as present: a request with a null id is not a notification, and a null
/// result is a response.
fn null_as_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

impl Envelope {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, MalformedMessage> {
        serde_json::from_slice(bytes)
            .map_err(|error| MalformedMessage::from_json_error(bytes, error))
    }

    pub(crate) fn into_message(self) -> Result<Message, MalformedMessage> {
        let id = self.id.as_deref().and_then(parse_json::<RequestId>);
        if !self.has_version_2() {
            return Err(MalformedMessage::not_json_rpc(
                "`jsonrpc` must be \"2.0\"",
                id,
            ));
        }
        if id.is_none() && self.id.as_deref().is_some_and(|id| !is_null(id)) {
            let why = "`id` must be a string or an integer";
            return Err(MalformedMessage::not_json_rpc(why, None));
        }
        if self.method.is_some() {
            self.into_call(id)
        } else {
            self.into_response(id).map(Message::Response)
        }
    }

    fn has_version_2(&self) -> bool {
        let version = self.jsonrpc.as_deref();
        version.is_some_and(|version| version.get() == r#""2.0""#)
    }

    /// Builds a request if there is an id, otherwise a notification.
    fn into_call(self, id: Option<RequestId>) -> Result<Message, MalformedMessage> {
        let Some(method) = self.method.as_deref().and_then(parse_json::<String>) else {
            return Err(MalformedMessage::not_json_rpc(
                "`method` must be a string",
                id,
            ));
        };
        let params = self.params.filter(|params| !is_null(params));
        if params.as_deref().is_some_and(|params| !is_object(params)) {
            return Err(MalformedMessage::not_json_rpc(
                "`params` must be an object",
                id,
            ));
        }
        match (id, self.id) {
            (Some(id), _) => Ok(Message::Request(Request { id, method, params })),
            (None, Some(_)) => Err(MalformedMessage::not_json_rpc(
                "`id` must not be null",
                None,
            )),
            (None, None) => Ok(Message::Notification(Notification { method, params })),
        }
    }

    fn into_response(self, id: Option<RequestId>) -> Result<Response, MalformedMessage> {
        // Some servers write both members and leave one of them null.
        let result = self
            .result
            .filter(|result| self.error.is_none() || !is_null(result));
        let why = match (result, self.error) {
            (Some(result), None) => match id {
                Some(id) => return Ok(Response::from_result(id, result)),
                None => "a result needs an `id`",
            },
            (None, Some(error)) => match parse_json::<ErrorObject>(&error) {
                Some(error) => return Ok(Response::from_error(id, error)),
                None => "`error` must have a code and a message",
            },
            (Some(_), Some(_)) => "both `result` and `error` are present",
            (None, None) => "neither `method`, `result` nor `error` is present",
        };
        Err(MalformedMessage::not_json_rpc(why, id))
    }
}

fn is_null(json: &RawValue) -> bool {
    json.get() == "null"
}

fn is_object(json: &RawValue) -> bool {
    json.get().starts_with('{')
}

fn parse_json<T: serde::de::DeserializeOwned>(json: &RawValue) -> Option<T> {
    serde_json::from_str(json.get()).ok()
}

/// The members of an outgoing message, in the order in which they are written.
#[derive(Serialize, Default)]
struct OutgoingEnvelope<'a> {
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

impl<'a> OutgoingEnvelope<'a> {
    fn from_message(message: &'a Message) -> Self {
        match message {
            Message::Request(request) => Self {
                id: Some(&request.id),
                ..Self::for_method(&request.method, request.params.as_deref())
            },
            Message::Notification(it) => Self::for_method(&it.method, it.params.as_deref()),
            Message::Response(response) => Self {
                jsonrpc: "2.0",
                id: response.id.as_ref(),
                result: response.outcome.as_deref().ok(),
                error: response.outcome.as_ref().err(),
                ..Self::default()
            },
        }
    }

    fn for_method(method: &'a str, params: Option<&'a RawValue>) -> Self {
        Self {
            jsonrpc: "2.0",
            method: Some(method),
            params,
            ..Self::default()
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        OutgoingEnvelope::from_message(self).serialize(serializer)
    }
}
