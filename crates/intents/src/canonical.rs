//! One spelling for JSON values that are equal, and a digest of it.

use serde_json::Value;

/// Returns the value as text, with the members of objects sorted by name.
pub fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// Returns 32 hexadecimal digits: 128 bits distinguish all values that one gateway ever meets.
pub fn digest(value: &Value) -> String {
    digest_of_text(&text(value))
}

pub(crate) fn digest_of_text(text: &str) -> String {
    const DIGITS: usize = 32;
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned()
}

fn write(value: &Value, into: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            into.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                separate(at, into);
                into.push_str(&Value::from(name.as_str()).to_string());
                into.push(':');
                write(value, into);
            }
            into.push('}');
        }
        Value::Array(items) => {
            into.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(at, into);
                write(item, into);
            }
            into.push(']');
        }
        scalar => into.push_str(&scalar.to_string()),
    }
}

fn separate(at: usize, into: &mut String) {
    if at > 0 {
        into.push(',');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_does_not_count_and_the_order_of_items_does() {
        let one = json!({ "b": [1, { "y": null, "x": "\"" }], "a": 1.5 });
        let other = json!({ "a": 1.5, "b": [1, { "x": "\"", "y": null }] });
        assert_eq!(text(&one), r#"{"a":1.5,"b":[1,{"x":"\"","y":null}]}"#);
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(digest(&json!([1, 2])), digest(&json!([2, 1])));
    }
}
