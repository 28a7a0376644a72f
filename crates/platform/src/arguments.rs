//! Parses the arguments of an action.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::PlatformError;

pub(crate) fn parse_arguments<T: DeserializeOwned>(
    arguments: Map<String, Value>,
) -> Result<T, PlatformError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| PlatformError::Arguments {
        reason: error.to_string(),
    })
}
