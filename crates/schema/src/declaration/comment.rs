//! Comments of a declaration: descriptions, and the limits that a type cannot say.

use kitbag_domain::text::strip_to_one_line;
use serde_json::{Map, Value};

use crate::excerpt::cut;

/// In bytes. Longer descriptions explain more than how a call is written.
const MAX_DESCRIPTION: usize = 400;
/// In bytes, for a default or a pattern.
const MAX_LIMIT: usize = 60;

/// The keywords that narrow a type down.
const LIMITS: [&str; 12] = [
    "format",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
];

/// Returns a comment with a text of one line. Only the end of the line ends such a comment, so that
/// a pattern such as `**/*.ts` stays as it is.
pub(super) fn line(text: &str) -> Option<String> {
    let text = cut(text.to_owned(), MAX_DESCRIPTION);
    (!text.is_empty()).then(|| format!("// {text}"))
}

/// Returns the description of a part of a schema with its limits.
pub(super) fn text(schema: &Value) -> String {
    let Some(object) = schema.as_object() else {
        return String::new();
    };
    let description = object.get("description").and_then(Value::as_str);
    let description = cut(
        strip_to_one_line(description.unwrap_or_default()),
        MAX_DESCRIPTION,
    );
    let limits = limits(object).join(", ");
    match (description.is_empty(), limits.is_empty()) {
        (_, true) => description,
        (true, false) => limits,
        (false, false) => format!("{description} ({limits})"),
    }
}

fn limits(object: &Map<String, Value>) -> Vec<String> {
    let given = LIMITS
        .iter()
        .filter_map(|key| Some((key, object.get(*key)?)));
    // An optional member that may be null is null unless it is given; its type says so.
    let given = given.filter(|(_, value)| !value.is_null());
    let mut limits: Vec<String> = given.map(|(key, value)| limit(key, value)).collect();
    if object.get("deprecated") == Some(&Value::Bool(true)) {
        limits.push("deprecated".to_owned());
    }
    limits
}

fn limit(key: &str, value: &Value) -> String {
    let value = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    format!("{key}: {}", cut(strip_to_one_line(&value), MAX_LIMIT))
}
