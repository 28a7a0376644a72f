//! The id of a JSON-RPC request.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Above about 2^53 (9.007e15), neighbouring integers become the same float.
const MAX_WHOLE_FLOAT: f64 = 9e15;

/// JSON-RPC ids are strings or integers; the two never equal each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    Number(i64),
    Text(String),
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
            Id::Float(number) if number.fract() == 0.0 && number.abs() < MAX_WHOLE_FLOAT =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the guard above admits only whole numbers within ±2^53"
                )]
                Ok(Self::Number(number as i64))
            }
            Id::Float(_) => Err(D::Error::custom("a request id is a string or an integer")),
        }
    }
}
