//! The parts of an action's input schema that patterns must know.

use serde_json::{Map, Value};

/// Returns the properties of an object's schema.
pub(crate) fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

pub(crate) fn required_names(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the default of each property that has one.
pub(crate) fn defaults(schema: &Map<String, Value>) -> Map<String, Value> {
    properties(schema)
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
        .collect()
}

/// True for the schema of an object whose properties are listed.
pub(crate) fn describes_object(schema: &Map<String, Value>) -> bool {
    let is_object = schema.get("type").is_some_and(|it| it == "object");
    let properties = schema.get("properties");
    is_object && properties.is_none_or(Value::is_object)
}
