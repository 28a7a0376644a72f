//! Names and values of schemas in TypeScript syntax.

use kitbag_domain::text::strip_invisible;
use serde_json::Value;

/// In bytes. A longer text among a schema's values is shown as `string`.
const MAX_TEXT: usize = 80;

/// Returns a value as its literal type. Numbers that no double can hold and long texts have none.
pub(super) fn value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => None,
        Value::String(text) => Some(quote_text(text)),
        Value::Number(number) => number
            .as_f64()
            .filter(|it| it.is_finite())
            .map(|_| number.to_string()),
        Value::Null | Value::Bool(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns a name as a member of an object, quoted if it is not an identifier.
pub(super) fn name(name: &str) -> String {
    if is_identifier(name) {
        name.to_owned()
    } else {
        quote_text(name)
    }
}

/// Returns a name as an access to a member: `.name` or `["name"]`.
pub(super) fn member(name: &str) -> String {
    if is_identifier(name) {
        format!(".{name}")
    } else {
        format!("[{}]", quote_text(name))
    }
}

/// Returns text in quotes. If some of it is invisible, everything other than ASCII is escaped, so
/// that the text stays the same and hides nothing.
fn quote_text(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    if strip_invisible(&quoted) == quoted {
        return quoted;
    }
    let mut units = [0; 2];
    let letters = quoted.chars();
    letters
        .map(|letter| match letter {
            ' '..='~' => letter.to_string(),
            letter => escapes(letter.encode_utf16(&mut units)),
        })
        .collect()
}

fn escapes(units: &[u16]) -> String {
    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, '_' | '$'))
        && letters.all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '$'))
}
