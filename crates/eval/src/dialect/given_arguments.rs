//! The arguments of a call as a model wrote them, which need not be a JSON object.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::suite::CallArguments;

/// The arguments of a call as the model wrote them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenArguments {
    Arguments(CallArguments),
    /// The text is not a JSON object.
    Malformed(String),
}

impl GivenArguments {
    pub(super) fn from_value(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Arguments(CallArguments::new()),
            Some(Value::Object(arguments)) => Self::Arguments(arguments.clone()),
            Some(Value::String(text)) => Self::parse(text),
            Some(other) => Self::Malformed(other.to_string()),
        }
    }

    fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            // Some models write an empty text if a call has no arguments.
            _ if text.trim().is_empty() => Self::Arguments(CallArguments::new()),
            Ok(arguments) => Self::Arguments(arguments),
            Err(_) => Self::Malformed(text.to_owned()),
        }
    }

    /// Returns the arguments, or the text, as the model sent them.
    pub(crate) fn as_sent(&self) -> Value {
        match self {
            Self::Arguments(arguments) => Value::Object(arguments.clone()),
            Self::Malformed(text) => Value::String(text.clone()),
        }
    }

    /// Returns arguments that can be sent back. Endpoints reject a history whose arguments are not
    /// an object.
    pub(super) fn to_repeatable(&self) -> Value {
        match self {
            Self::Arguments(arguments) => Value::Object(arguments.clone()),
            Self::Malformed(_) => Value::Object(CallArguments::new()),
        }
    }
}

/// Writes the arguments as the model wrote them, on one line.
impl fmt::Display for GivenArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(arguments) => {
                f.write_str(&serde_json::to_string(arguments).expect("arguments are JSON"))
            }
            Self::Malformed(text) => f.write_str(text),
        }
    }
}
