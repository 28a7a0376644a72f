//! Makes an example of arguments that would be accepted. Every example is held against the schema
//! before it is shown; where none is found, none is shown.

use serde_json::{Value, json};

use super::compile::Compiled;
use super::repair::repaired;
use super::skeleton::skeleton;
use super::violation;

/// A model would not read a longer example.
const MAX_EXAMPLE: usize = 600;
/// Text is cut to this where an example would be too long.
const MAX_TEXT: usize = 40;

/// Returns the value that was sent with its mistakes mended, or else the least that the schema
/// requires.
pub(super) fn example(compiled: &Compiled, given: Value) -> Option<String> {
    mended(compiled, given).or_else(|| {
        let least = skeleton(&compiled.schema, &compiled.schema);
        mended(compiled, least)
    })
}

/// Returns the mended value as text, shortened if it must be, unless it is too long or no longer
/// fits then.
fn mended(compiled: &Compiled, value: Value) -> Option<String> {
    let value = repaired(compiled, value)?;
    let text = value.to_string();
    if text.len() <= MAX_EXAMPLE {
        return Some(text);
    }
    let value = shortened(&value);
    let text = value.to_string();
    let fits =
        text.len() <= MAX_EXAMPLE && violation::find(compiled, &value, text.len()).is_empty();
    fits.then_some(text)
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
