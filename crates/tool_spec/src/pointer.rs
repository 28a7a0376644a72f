//! A pointer into a JSON value, written as a JSON Pointer.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// Empty for the whole value, or `/name/0/other`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonPointer(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a JSON pointer")]
pub struct JsonPointerError {
    pub found: String,
}

impl JsonPointer {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        value.pointer(&self.0)
    }

    /// Returns the name of the last member on the path.
    pub fn last(&self) -> Option<String> {
        let (_, last) = self.0.rsplit_once('/')?;
        Some(last.replace("~1", "/").replace("~0", "~"))
    }
}

impl FromStr for JsonPointer {
    type Err = JsonPointerError;

    fn from_str(text: &str) -> Result<Self, JsonPointerError> {
        if text.is_empty() || text.starts_with('/') {
            Ok(Self(text.to_owned()))
        } else {
            Err(JsonPointerError {
                found: text.to_owned(),
            })
        }
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
