//! Finds the only possible meaning of a value of the wrong type: `"3"` for a number is 3.
//!
//! Models write such values every day, and a server would reject them. If two readings are
//! possible, neither is used: `"a, b"` for a list may mean one item or two.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use kitbag_wire::{Raw, raw};
use serde_json::{Number, Value};

/// A reading of a value. Numbers keep their text as written.
#[derive(Debug, Clone)]
pub(super) enum Reading {
    /// The value is read as this one.
    As(Raw),
    /// The value is read as the only item of a list.
    AsOnlyItem,
}

/// Returns the only possible meaning of a value, given the mistake found in it.
pub(super) fn find_reading(value: &Value, kind: &Kind) -> Option<Reading> {
    let mut allowed = Allowed::default();
    allowed.learn(kind)?;
    let mut readings = allowed.readings(value);
    readings.dedup_by(|one, other| one.get() == other.get());
    match readings.as_slice() {
        [] if allowed.types.contains(&JsonType::Array) && is_one_item(value) => {
            Some(Reading::AsOnlyItem)
        }
        [one] => Some(Reading::As(one.clone())),
        _ => None,
    }
}

/// The types and options allowed at the mistake's position.
#[derive(Default)]
struct Allowed {
    types: Vec<JsonType>,
    options: Vec<Value>,
}

impl Allowed {
    /// Returns `None` for a mistake that is not about the type of a value.
    fn learn(&mut self, kind: &Kind) -> Option<()> {
        match kind {
            Kind::Type {
                kind: TypeKind::Single(one),
            } => self.types.push(*one),
            Kind::Type {
                kind: TypeKind::Multiple(several),
            } => self.types.extend(several),
            Kind::Enum { options } => self.options.extend(options.as_array()?.iter().cloned()),
            Kind::Constant { expected_value } => self.options.push((**expected_value).clone()),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                for branch in context {
                    self.learn_form(branch);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns all readings of the value as one of the options and types.
    fn readings(&self, value: &Value) -> Vec<Raw> {
        let options = self.options.iter();
        let spelt = options.filter_map(|option| respell(value, option));
        let types = self.types.iter();
        let converted = types.filter_map(|sort| convert_value(value, *sort, &self.types));
        spelt.chain(converted).collect()
    }

    /// If a form requires both a type and one of several values, the values are sufficient.
    fn learn_form(&mut self, branch: &[ValidationError<'static>]) {
        let listed = branch
            .iter()
            .find(|error| matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. }));
        if let Some(error) = listed.or_else(|| branch.first()) {
            let _other_mistake = self.learn(error.kind());
        }
    }
}

/// Returns one of the listed values, if it is the given one in another spelling.
fn respell(value: &Value, option: &Value) -> Option<Raw> {
    let (text, spelt) = match (value, option) {
        (Value::String(text), Value::Number(_) | Value::Bool(_)) => (text, option.to_string()),
        (Value::Number(number), Value::String(text)) => (text, number.to_string()),
        _ => return None,
    };
    (*text == spelt).then(|| raw(option))
}

fn convert_value(value: &Value, to: JsonType, allowed: &[JsonType]) -> Option<Raw> {
    match value {
        Value::String(text) => converted_text(text, to),
        // The original spelling of a fraction is lost: 1.10 may have been a version.
        Value::Number(number)
            if to == JsonType::String && !number.is_f64() && allows_only_text(allowed) =>
        {
            Some(raw(&number.to_string()))
        }
        _ => None,
    }
}

fn converted_text(text: &str, to: JsonType) -> Option<Raw> {
    match to {
        JsonType::Integer if is_integer(text) => json_text(text),
        JsonType::Number if serde_json::from_str::<Number>(text).is_ok() => json_text(text),
        JsonType::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" => Some(raw(&true)),
            "false" => Some(raw(&false)),
            _ => None,
        },
        JsonType::Object if text.trim_start().starts_with('{') => json_text(text),
        JsonType::Array if text.trim_start().starts_with('[') => json_text(text),
        _ => None,
    }
}

fn allows_only_text(allowed: &[JsonType]) -> bool {
    allowed
        .iter()
        .all(|it| matches!(it, JsonType::String | JsonType::Null))
}

/// True if the text is an integer in JSON syntax. With a leading zero, or a sign that JSON does not
/// allow, it is an identifier rather than a number.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    plain && (digits == "0" || !digits.starts_with('0'))
}

fn json_text(text: &str) -> Option<Raw> {
    serde_json::from_str(text).ok()
}

/// True if a value is one item rather than several in one text.
fn is_one_item(value: &Value) -> bool {
    match value {
        Value::Null | Value::Array(_) => false,
        Value::String(text) => {
            !text.is_empty() && !text.starts_with('[') && !text.contains([',', ';', '\n'])
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks how `value` is read if one of `types` is expected.
    #[track_caller]
    fn check(value: &Value, types: &[&str], expected: Option<&Value>) {
        let schema = json!({ "type": types });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let error = validator.validate(value).unwrap_err();
        let read = find_reading(value, error.kind()).map(|reading| match reading {
            Reading::As(raw) => serde_json::from_str(raw.get()).unwrap(),
            Reading::AsOnlyItem => json!([value]),
        });
        assert_eq!(read.as_ref(), expected, "{value} as {types:?}");
    }

    #[test]
    fn an_unambiguous_value_is_converted() {
        for (value, types, expected) in [
            (json!("3"), &["integer"] as &[_], json!(3)),
            (json!("-3"), &["integer", "null"], json!(-3)),
            (json!("3"), &["integer", "number"], json!(3)),
            (json!("3.5"), &["number"], json!(3.5)),
            (json!("true"), &["boolean"], json!(true)),
            (json!("False"), &["boolean"], json!(false)),
            (json!(3), &["string"], json!("3")),
            (json!(" {\"a\":1}"), &["object"], json!({ "a": 1 })),
            (json!("[1,2]"), &["array"], json!([1, 2])),
            (json!("a b"), &["array"], json!(["a b"])),
            (json!({ "a": 1 }), &["array"], json!([{ "a": 1 }])),
        ] {
            check(&value, types, Some(&expected));
        }
    }

    #[test]
    fn an_ambiguous_value_is_not_converted() {
        for (value, types) in [
            (json!("three"), &["integer"] as &[_]),
            (json!("007"), &["integer"]),
            (json!("+3"), &["integer"]),
            (json!(" 3"), &["integer"]),
            (json!("3.0"), &["integer"]),
            (json!(""), &["integer"]),
            (json!("NaN"), &["number"]),
            (json!("yes"), &["boolean"]),
            (json!(1), &["boolean"]),
            (json!(3), &["string", "boolean"]),
            (json!(1.10), &["string"]),
            (json!(true), &["string"]),
            (json!("{broken"), &["object"]),
            (json!("[1,"), &["array"]),
            (json!("a, b"), &["array"]),
            (json!(""), &["array"]),
            (json!(null), &["array"]),
            (json!(null), &["string"]),
        ] {
            check(&value, types, None);
        }
    }
}
