//! The arguments of a call as a text that can be compared with requests, without anything that
//! looks like a secret.

use kitbag_clients::{MASK, without_secrets};
use kitbag_upstream::mask::masked;
use serde_json::Value;

/// Longer values are contents, and say less about the intent with each word.
const LONGEST_VALUE: usize = 120;
/// As much as a long request in words.
const LONGEST_TEXT: usize = 600;

/// Returns nothing if the arguments say nothing.
pub(super) fn text(arguments: &str) -> Option<String> {
    let arguments = without_secrets(serde_json::from_str(arguments).ok()?);
    let mut parts = Vec::new();
    add(&mut parts, "", &arguments);
    let mut text = masked(&parts.join(", "));
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    (!text.is_empty()).then_some(text)
}

/// Adds `name value` for each value, under the name that is nearest to it.
fn add(parts: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, it)| add(parts, name, it)),
        Value::Array(items) => items.iter().for_each(|it| add(parts, name, it)),
        Value::String(text) if !text.trim().is_empty() && text != MASK => {
            let end = text.floor_char_boundary(LONGEST_VALUE);
            parts.push(format!("{name} {}", &text[..end]));
        }
        Value::Number(number) => parts.push(format!("{name} {number}")),
        // That a switch is on tells something, but true and false do not.
        Value::Bool(true) => parts.push(name.to_owned()),
        Value::String(_) | Value::Bool(false) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_become_words_and_secrets_are_left_out() {
        for (arguments, expected) in [
            (json!({}), None),
            (json!({ "q": "", "all": false }), None),
            (
                json!({ "from": "USD", "to": ["EUR", "CHF"], "amount": 12.5, "round": true }),
                Some("from USD, to EUR, to CHF, amount 12.5, round"),
            ),
            (
                json!({ "user": { "name": "Ann", "password": "hunter2hunter2" } }),
                Some("name Ann"),
            ),
            (
                json!({ "q": "mail", "token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789" }),
                Some("q mail"),
            ),
        ] {
            assert_eq!(
                text(&arguments.to_string()).as_deref(),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn contents_are_cut() {
        let long = "word ".repeat(1_000);
        let text =
            text(&json!({ "a": long, "b": [long, long, long, long, long, long] }).to_string());
        assert!(text.is_some_and(|it| it.len() <= LONGEST_TEXT));
    }
}
