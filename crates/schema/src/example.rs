//! Creates an example of acceptable arguments. Every example is checked against the schema before
//! it is shown; if none is found, none is shown.

use serde_json::{Map, Value, json};

use super::Mask;
use super::compile::Compiled;
use super::mistake::each;
use super::repair::repair_value;
use super::skeleton::skeleton;

/// A model would not read a longer example.
const MAX_EXAMPLE: usize = 600;
/// The length to which text is truncated if an example would be too long.
const MAX_TEXT: usize = 40;

/// Returns the value that was sent with its mistakes repaired, or else the minimum that the schema
/// requires. Everything that `mask` considers a secret is masked.
pub(super) fn example(compiled: &Compiled, given: Value, mask: Mask) -> Option<String> {
    let said_something = !is_empty(&given);
    let mended = repair_value(compiled, given).map(mask);
    let kept = mended.filter(|it| !(said_something && is_empty(it)));
    kept.and_then(|value| short_text(compiled, value))
        .or_else(|| {
            let least = skeleton(&compiled.schema, &compiled.schema);
            short_text(compiled, repair_value(compiled, least)?)
        })
        .filter(|text| !(said_something && text == "{}"))
}

/// Returns a value as text, shortened if necessary; `None` if it is then still too long or no longer
/// valid.
fn short_text(compiled: &Compiled, value: Value) -> Option<String> {
    let whole = value.to_string();
    let (value, text) = if whole.len() <= MAX_EXAMPLE {
        (value, whole)
    } else {
        let value = shorten_value(&value);
        let text = value.to_string();
        (value, text)
    };
    (text.len() <= MAX_EXAMPLE && is_accepted(compiled, &value)).then_some(text)
}

fn is_accepted(compiled: &Compiled, value: &Value) -> bool {
    let mut is_accepted = true;
    each(compiled, value, MAX_EXAMPLE, &mut |_, _| {
        is_accepted = false;
    });
    is_accepted
}

/// True for a value without information for a reader.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// Drops long text, and all but the first item of a list; the caller knows its own values.
fn shorten_value(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => json!("…"),
        Value::Array(items) => items.iter().take(1).map(shorten_value).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), shorten_value(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}
