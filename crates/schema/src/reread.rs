//! Arguments that are invalid as they are, with only one reading that is valid.

use std::collections::BTreeMap;
use std::fmt;

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::Value;
use serde_json::value::RawValue;

use super::compile::Compiled;
use super::excerpt::{truncate_text, type_of_value};
use super::meaning::{Reading, find_reading};
use super::mistake::each;
use super::pointer::unescape;

/// The most rounds of rereading. Each reveals the values inside: a text that holds a list, whose
/// items are texts that hold numbers. No real arguments go deeper.
const MAX_ROUNDS: usize = 4;
/// Larger arguments are left as they are.
const MAX_BYTES: usize = 256 * 1024;
/// The bytes of a value that the model sees, enough to recognize it.
const MAX_SHOWN: usize = 60;
/// Further changes are only counted.
const MAX_CHANGES: usize = 5;

/// Arguments as they were meant, and the values that were reread.
#[derive(Debug)]
pub struct RereadArguments {
    pub arguments: Raw,
    changes: Vec<RereadValue>,
}

#[derive(Debug)]
struct RereadValue {
    path: String,
    became: String,
    was: &'static str,
}

/// Returns `None` for arguments that are valid already, or invalid in every reading.
pub(super) fn reread_arguments(
    compiled: &Compiled,
    given: &RawValue,
    value: Value,
) -> Option<RereadArguments> {
    if given.get().len() > MAX_BYTES {
        return None;
    }
    let (mut arguments, mut value, mut changes) = (given.to_owned(), value, Vec::new());
    for _ in 0..MAX_ROUNDS {
        let readings = readings(compiled, &value, arguments.get().len())?;
        if readings.is_empty() {
            return (!changes.is_empty()).then_some(RereadArguments { arguments, changes });
        }
        for (path, reading) in readings {
            let was = type_of_value(value.pointer(&path)?);
            let (whole, part) = read(&arguments, &steps(&path), &reading)?;
            arguments = whole;
            let became = truncate_text(part.get().to_owned(), MAX_SHOWN);
            changes.push(RereadValue { path, became, was });
        }
        value = serde_json::from_str(arguments.get()).ok()?;
    }
    None
}

/// Returns the reading of each invalid value, by its path; `None` if one of them has no reading.
fn readings(compiled: &Compiled, value: &Value, bytes: usize) -> Option<BTreeMap<String, Reading>> {
    let mut readings = BTreeMap::new();
    let mut all_read = true;
    each(compiled, value, bytes, &mut |mistake, kind| {
        let reading = find_reading(mistake.value, kind);
        all_read &= reading.is_some();
        readings.extend(reading.map(|reading| (mistake.path.clone(), reading)));
    });
    all_read.then_some(readings)
}

fn steps(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(unescape).collect()
}

/// Returns the whole with one part reread, and that part. The rest keeps its text.
fn read(json: &RawValue, steps: &[String], reading: &Reading) -> Option<(Raw, Raw)> {
    let Some((step, rest)) = steps.split_first() else {
        let part = match reading {
            Reading::As(part) => part.clone(),
            Reading::AsOnlyItem => raw(&[json]),
        };
        return Some((part.clone(), part));
    };
    if let Ok(mut object) = RawObject::open(json) {
        let (member, part) = read(object.get(step)?, rest, reading)?;
        object.set(step, member);
        return Some((object.to_raw(), part));
    }
    let mut items: Vec<Raw> = serde_json::from_str(json.get()).ok()?;
    let item = items.get_mut(step.parse::<usize>().ok()?)?;
    let (read, part) = read(item, rest, reading)?;
    *item = read;
    Some((raw(&items), part))
}

impl fmt::Display for RereadArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.changes.iter().take(MAX_CHANGES);
        let changes: Vec<String> = shown.map(RereadValue::to_string).collect();
        write!(f, "Taken as: {}", changes.join(", "))?;
        match self.changes.len().saturating_sub(MAX_CHANGES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for RereadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, became, was } = self;
        let name = match path.strip_prefix('/') {
            None | Some("") => "arguments",
            Some(name) => name,
        };
        write!(f, "{name} = {became} (was {was})")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Checker;
    use super::*;

    fn schema() -> Value {
        let item = json!({
            "type": "object",
            "properties": { "sku": { "type": "string" }, "count": { "type": "integer", "minimum": 1 } },
            "required": ["sku", "count"],
        });
        json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer", "minimum": 1 },
                "maybe": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
                "on": { "type": "boolean" },
                "id": { "type": "string" },
                "level": { "enum": [1, 2, 3] },
                "items": { "type": "array", "items": item },
                "any": {},
            },
            "additionalProperties": false,
        })
    }

    /// Checks the reread arguments, and the note about them for the model.
    #[track_caller]
    fn check(given: &str, expected: Option<(&str, &str)>) {
        let tool = RawObject::new()
            .with("name", "tool")
            .with("inputSchema", &schema())
            .to_raw();
        let given: Raw = serde_json::from_str(given).unwrap();
        let taken = Checker::default().reread_arguments(&tool, &given);
        let note = taken.map(|taken| (taken.arguments.get().to_owned(), taken.to_string()));
        let note = note
            .as_ref()
            .map(|(arguments, note)| (arguments.as_str(), note.as_str()));
        assert_eq!(note, expected, "{given}");
    }

    #[test]
    fn unambiguous_values_are_reread_and_reported() {
        for (given, arguments, note) in [
            (
                r#"{"n":"3"}"#,
                r#"{"n":3}"#,
                "Taken as: n = 3 (was a string)",
            ),
            (
                r#"{"maybe":"3"}"#,
                r#"{"maybe":3}"#,
                "Taken as: maybe = 3 (was a string)",
            ),
            (
                r#"{"on":"true","id":7}"#,
                r#"{"on":true,"id":"7"}"#,
                "Taken as: id = \"7\" (was a number), on = true (was a string)",
            ),
            (
                r#"{"level":"2"}"#,
                r#"{"level":2}"#,
                "Taken as: level = 2 (was a string)",
            ),
            (
                r#"{"items":"[{\"sku\":\"tea\",\"count\":\"2\"}]"}"#,
                r#"{"items":[{"sku":"tea","count":2}]}"#,
                "Taken as: items = [{\"sku\":\"tea\",\"count\":\"2\"}] (was a string), items/0/count = 2 (was a string)",
            ),
            (
                r#"{"items":{"sku":"tea","count":1}}"#,
                r#"{"items":[{"sku":"tea","count":1}]}"#,
                "Taken as: items = [{\"sku\":\"tea\",\"count\":1}] (was an object)",
            ),
        ] {
            check(given, Some((arguments, note)));
        }
    }

    #[test]
    fn unchanged_values_keep_their_text() {
        check(
            r#"{"any":{"f":1.50,"big":123456789012345678901234567890}, "n":"12345678901234567890123"}"#,
            Some((
                r#"{"any":{"f":1.50,"big":123456789012345678901234567890},"n":12345678901234567890123}"#,
                "Taken as: n = 12345678901234567890123 (was a string)",
            )),
        );
    }

    #[test]
    fn arguments_that_are_valid_or_have_no_valid_reading_are_unchanged() {
        for given in [
            r#"{"n":3,"id":"7","any":"3"}"#,
            r#"{"n":"0"}"#,
            r#"{"n":"three"}"#,
            r#"{"n":"3","zzz":1}"#,
            r#"{"id":null}"#,
            r#"{"items":"tea, coffee"}"#,
            r#"{"items":[{"sku":"tea"}]}"#,
        ] {
            check(given, None);
        }
    }
}
