//! The part of the arguments of a call, or of the words of a search, that goes on record.

use kitbag_clients::without_secrets;
use kitbag_config::ArgumentRecording;
use kitbag_domain::RecordedArguments;
use kitbag_store::Store;
use kitbag_upstream::mask::masked;
use serde_json::Value;

/// Longer arguments are not read: a client waits meanwhile, and the record would keep a fraction.
const LONGEST: usize = 64 * 1024;

/// Returns what the operator wants to be kept of arguments, which are JSON.
pub(crate) fn recorded(
    kept: ArgumentRecording,
    store: &Store,
    arguments: &str,
) -> Option<RecordedArguments> {
    let text = match kept {
        ArgumentRecording::None => return None,
        ArgumentRecording::Hash => store.hash_arguments(&canonical(arguments)),
        ArgumentRecording::Redacted => redacted(arguments),
    };
    Some(RecordedArguments::cut(&text))
}

/// The same text for the same arguments, in whichever order they were written.
fn canonical(arguments: &str) -> String {
    let value = read(arguments).map(sorted);
    value.map_or_else(|| arguments.to_owned(), |value| value.to_string())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            let members = members.into_iter().map(|(name, it)| (name, sorted(it)));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn redacted(arguments: &str) -> String {
    match read(arguments) {
        // Values that this process knows to be secrets go last, whatever they look like.
        Some(value) => masked(&without_secrets(value).to_string()),
        None => format!("({} bytes)", arguments.len()),
    }
}

fn read(arguments: &str) -> Option<Value> {
    let short = Some(arguments).filter(|text| text.len() <= LONGEST)?;
    serde_json::from_str(short).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_arguments_have_one_canonical_form() {
        let one = canonical(r#"{"b":[{"y":1,"x":2}],"a":1.50}"#);
        let two = canonical(r#"{ "a": 1.50, "b": [{"x":2,"y":1}] }"#);
        assert_eq!(one, two);
        assert_ne!(one, canonical(r#"{"a":1.5,"b":[]}"#));
    }
}
