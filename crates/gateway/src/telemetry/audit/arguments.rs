//! Prepares the arguments of calls and searches for the audit: a hash, or the arguments without
//! secrets.

use kitbag_clients::without_secrets;
use kitbag_config::ArgumentRecording;
use kitbag_domain::RecordedArguments;
use kitbag_store::Store;
use kitbag_upstream::mask::mask_secrets;
use serde_json::Value;

/// Longer arguments are not parsed: the client is waiting, and the row would hold only a fraction
/// of them.
const MAX_PARSED_BYTES: usize = 64 * 1024;

/// Converts arguments, which are JSON, as `[audit] arguments` says.
pub(crate) fn to_recorded_arguments(
    recording: ArgumentRecording,
    store: &Store,
    arguments: &str,
) -> Option<RecordedArguments> {
    let text = match recording {
        ArgumentRecording::None => return None,
        ArgumentRecording::Hash => store.hash_arguments(&canonicalize(arguments)),
        ArgumentRecording::Redacted => redact_secrets(arguments),
    };
    Some(RecordedArguments::truncate(&text))
}

/// Returns the same text for equal arguments, whatever the order of their members.
fn canonicalize(arguments: &str) -> String {
    let value = parse_short(arguments).map(sort_members);
    value.map_or_else(|| arguments.to_owned(), |value| value.to_string())
}

fn sort_members(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            let members = members
                .into_iter()
                .map(|(name, it)| (name, sort_members(it)));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sort_members).collect()),
        other => other,
    }
}

fn redact_secrets(arguments: &str) -> String {
    match parse_short(arguments) {
        // Secrets known to this process are masked last, whatever they look like.
        Some(value) => mask_secrets(&without_secrets(value).to_string()),
        None => format!("({} bytes)", arguments.len()),
    }
}

fn parse_short(arguments: &str) -> Option<Value> {
    let short = Some(arguments).filter(|text| text.len() <= MAX_PARSED_BYTES)?;
    serde_json::from_str(short).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arguments_have_one_canonical_form() {
        let one = canonicalize(r#"{"b":[{"y":1,"x":2}],"a":1.50}"#);
        let two = canonicalize(r#"{ "a": 1.50, "b": [{"x":2,"y":1}] }"#);
        assert_eq!(one, two);
        assert_ne!(one, canonicalize(r#"{"a":1.5,"b":[]}"#));
    }
}
