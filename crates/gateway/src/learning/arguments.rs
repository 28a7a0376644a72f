//! The arguments of a call as text that can be compared with queries, without potential secrets.

use kitbag_clients::{MASK, without_secrets};
use kitbag_relevance::learning::event::CallArguments;
use kitbag_upstream::mask::mask_secrets;
use serde_json::Value;

/// Longer values are usually contents, which say little about the intent.
const LONGEST_VALUE: usize = 120;
/// About the length of a long request.
const LONGEST_TEXT: usize = 600;

/// Reads the arguments of a call, which are JSON. Without meaningful values there is no text.
pub fn to_call_arguments(arguments: &str) -> CallArguments {
    let Ok(arguments) = serde_json::from_str(arguments) else {
        return CallArguments::default();
    };
    let mut parts = Vec::new();
    collect_parts(&mut parts, "", &without_secrets(arguments));
    let values = parts.iter().filter_map(|part| part.value.as_deref());
    let values = mask_and_truncate(&values.collect::<Vec<_>>().join(", "));
    let named: Vec<String> = parts.iter().map(ArgumentPart::with_name).collect();
    let text = mask_and_truncate(&named.join(", "));
    CallArguments {
        values,
        text: (!text.is_empty()).then_some(text),
    }
}

fn mask_and_truncate(text: &str) -> String {
    let mut text = mask_secrets(text);
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    text
}

/// A value with the name nearest to it; a flag set to true has only a name.
struct ArgumentPart {
    name: String,
    value: Option<String>,
}

impl ArgumentPart {
    fn with_name(&self) -> String {
        match &self.value {
            Some(value) => format!("{} {value}", self.name),
            None => self.name.clone(),
        }
    }
}

fn collect_parts(parts: &mut Vec<ArgumentPart>, name: &str, value: &Value) {
    let mut push = |value: Option<String>| {
        let name = name.to_owned();
        parts.push(ArgumentPart { name, value });
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, it)| collect_parts(parts, name, it)),
        Value::Array(items) => items.iter().for_each(|it| collect_parts(parts, name, it)),
        Value::String(text) if !text.trim().is_empty() && text != MASK => {
            let end = text.floor_char_boundary(LONGEST_VALUE);
            push(Some(text[..end].to_owned()));
        }
        Value::Number(number) => push(Some(number.to_string())),
        // A flag set to true is informative, but the word `true` is not.
        Value::Bool(true) => push(None),
        Value::String(_) | Value::Bool(false) | Value::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_become_text_without_secrets() {
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
                to_call_arguments(&arguments.to_string()).text.as_deref(),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn values_have_no_names() {
        let arguments =
            json!({ "from": "USD", "amount": 12, "round": true, "password": "hunter2" });
        assert_eq!(to_call_arguments(&arguments.to_string()).values, "USD, 12");
        assert_eq!(to_call_arguments("no JSON").values, "");
    }

    #[test]
    fn contents_are_truncated() {
        let long = "word ".repeat(1_000);
        let all = json!({ "a": long, "b": [long, long, long, long, long, long] });
        let read = to_call_arguments(&all.to_string());
        assert!(read.text.is_some_and(|it| it.len() <= LONGEST_TEXT));
        assert!(read.values.len() <= LONGEST_TEXT);
    }
}
