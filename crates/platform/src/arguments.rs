//! The arguments of an action as a type.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::PlatformError;

pub(crate) fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, PlatformError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| PlatformError::Arguments {
        reason: error.to_string(),
    })
}
