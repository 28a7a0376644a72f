//! Comments of a declaration: descriptions, and limits that a type cannot express.

use kitbag_domain::text::strip_to_one_line;
use serde_json::{Map, Value};

use crate::excerpt::truncate_text;

/// In bytes. Longer descriptions explain more than how to write a call.
const MAX_DESCRIPTION: usize = 400;
/// In bytes, for a default or a pattern.
const MAX_LIMIT: usize = 60;

/// The keywords that narrow a type.
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

/// Returns a one-line comment. Only the end of the line ends such a comment, so a pattern such as
/// `**/*.ts` stays unchanged.
pub(super) fn line(text: &str) -> Option<String> {
    let text = truncate_text(text.to_owned(), MAX_DESCRIPTION);
    (!text.is_empty()).then(|| format!("// {text}"))
}

/// Returns the description of a part of a schema with its limits.
pub(super) fn text(schema: &Value) -> String {
    let Some(object) = schema.as_object() else {
        return String::new();
    };
    let description = object.get("description").and_then(Value::as_str);
    let description = truncate_text(
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
    // An optional member that may be null is null by default; its type says so.
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
    format!(
        "{key}: {}",
        truncate_text(strip_to_one_line(&value), MAX_LIMIT)
    )
}
