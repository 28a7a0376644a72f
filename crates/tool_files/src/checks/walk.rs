//! Every part of a JSON Schema, with its path.

use serde_json::{Map, Value};

/// A part of a schema, and the pointer to it.
pub(super) struct VisitedPart<'s> {
    pub(super) path: String,
    pub(super) schema: &'s Map<String, Value>,
}

/// Returns the schema and all schemas within it: references, alternatives and definitions.
pub(super) fn visit_parts(schema: &Map<String, Value>) -> Vec<VisitedPart<'_>> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), schema)];
    while let Some((path, schema)) = waiting.pop() {
        for (key, value) in schema {
            waiting.extend(child_schemas(&path, key, value));
        }
        found.push(VisitedPart { path, schema });
    }
    found
}

/// Returns the schemas that a keyword holds: one, a list, or one for each name.
fn child_schemas<'s>(
    path: &str,
    key: &str,
    value: &'s Value,
) -> Vec<(String, &'s Map<String, Value>)> {
    match (key, value) {
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(named),
        ) => named
            .iter()
            .filter_map(|(name, inner)| Some((format!("{path}/{key}/{name}"), inner.as_object()?)))
            .collect(),
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(items)) => items
            .iter()
            .enumerate()
            .filter_map(|(at, inner)| Some((format!("{path}/{key}/{at}"), inner.as_object()?)))
            .collect(),
        (
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "propertyNames",
            Value::Object(inner),
        ) => vec![(format!("{path}/{key}"), inner)],
        _ => Vec::new(),
    }
}
