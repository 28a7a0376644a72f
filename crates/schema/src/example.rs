//! An example of arguments that would be accepted. Every one is held against the schema before it
//! is shown; where none is found, none is shown.

use serde_json::{Value, json};

use super::compile::Compiled;
use super::repair::repaired;
use super::skeleton::skeleton;
use super::violation;

/// A longer one would not be read.
const MAX_EXAMPLE: usize = 600;
/// Text is cut to this where an example would be too long.
const MAX_TEXT: usize = 40;

/// Returns the value that was sent with its mistakes mended, or else the least that the schema
/// requires.
pub(super) fn example(compiled: &Compiled, given: Value) -> Option<String> {
    let mended = || repaired(compiled, given);
    let least = || repaired(compiled, skeleton(&compiled.schema, &compiled.schema));
    shown(compiled, mended()).or_else(|| shown(compiled, least()))
}

/// The value as text, shortened if it must be, unless it is too long or no longer fits then.
fn shown(compiled: &Compiled, value: Option<Value>) -> Option<String> {
    let value = value?;
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

/// Long text gives way, and of a list all but the first item; the caller knows what it sent.
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
