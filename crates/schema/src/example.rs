//! Makes an example of arguments that would be accepted. Every example is held against the schema
//! before it is shown; where none is found, none is shown.

use serde_json::{Map, Value, json};

use super::Mask;
use super::compile::Compiled;
use super::mistake::each;
use super::repair::repaired;
use super::skeleton::skeleton;

/// A model would not read a longer example.
const MAX_EXAMPLE: usize = 600;
/// Text is cut to this where an example would be too long.
const MAX_TEXT: usize = 40;

/// Returns the value that was sent with its mistakes mended, or else the least that the schema
/// requires. Nothing is kept of the value that `mask` takes for a secret.
pub(super) fn example(compiled: &Compiled, given: Value, mask: Mask) -> Option<String> {
    let said_something = !is_empty(&given);
    let mended = repaired(compiled, given).map(mask);
    let kept = mended.filter(|it| !(said_something && is_empty(it)));
    kept.and_then(|value| short_text(compiled, value))
        .or_else(|| {
            let least = skeleton(&compiled.schema, &compiled.schema);
            short_text(compiled, repaired(compiled, least)?)
        })
        .filter(|text| !(said_something && text == "{}"))
}

/// Returns a value as text, shortened if it must be; `None` if it is too long or no longer fits then.
fn short_text(compiled: &Compiled, value: Value) -> Option<String> {
    let whole = value.to_string();
    let (value, text) = if whole.len() <= MAX_EXAMPLE {
        (value, whole)
    } else {
        let value = shortened(&value);
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

/// True for a value that tells a reader nothing.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}

/// Leaves out long text, and of a list all but the first item; the caller knows what it sent.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => json!("…"),
        Value::Array(items) => items.iter().take(1).map(shortened).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), shortened(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}
