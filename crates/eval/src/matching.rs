//! Compares arguments and results with the expected ones, as leniently as a person would.

use serde_json::Value;

use crate::suite::CallArguments;

pub(crate) fn same_arguments(expected: &CallArguments, given: &CallArguments) -> bool {
    filled_arguments(expected).count() == filled_arguments(given).count()
        && filled_arguments(expected).all(|(key, value)| {
            given
                .get(key)
                .is_some_and(|given| is_same_value(value, given))
        })
}

/// Returns the arguments without empty values, because some models fill every optional parameter
/// with null or empty values.
pub(crate) fn filled_arguments(arguments: &CallArguments) -> impl Iterator<Item = (&str, &Value)> {
    let said = arguments.iter().filter(|(_, value)| !is_empty(value));
    said.map(|(key, value)| (key.as_str(), value))
}

pub(crate) fn has_argument(arguments: &CallArguments, key: &str) -> bool {
    arguments.get(key).is_some_and(|value| !is_empty(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Compares texts regardless of case, spaces and dashes, numbers by value, and lists in any order.
pub(crate) fn is_same_value(expected: &Value, given: &Value) -> bool {
    match (expected, given) {
        (Value::String(expected), Value::String(given)) => {
            normalize_text(expected) == normalize_text(given)
        }
        (Value::Number(expected), Value::Number(given)) => expected.as_f64() == given.as_f64(),
        (Value::Array(expected), Value::Array(given)) => {
            expected.len() == given.len() && all_in(expected, given) && all_in(given, expected)
        }
        (Value::Object(expected), Value::Object(given)) => same_arguments(expected, given),
        _ => expected == given,
    }
}

fn all_in(some: &[Value], others: &[Value]) -> bool {
    let mut some = some.iter();
    some.all(|one| others.iter().any(|other| is_same_value(one, other)))
}

fn normalize_text(text: &str) -> String {
    let letters = text.chars().filter(|c| !is_between_words(*c));
    letters.flat_map(char::to_lowercase).collect()
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '_')
}

/// True if the result contains at least the expected value: an object may have more members, a list
/// more items.
pub(crate) fn contains(result: Option<&Value>, expected: &Value) -> bool {
    match (result, expected) {
        (Some(Value::Object(result)), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| contains(result.get(key), value)),
        (Some(Value::Array(result)), Value::Array(expected)) => expected
            .iter()
            .all(|it| result.iter().any(|item| contains(Some(item), it))),
        (Some(result), expected) => is_same_value(expected, result),
        (None, expected) => expected.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_may_contain_more_than_the_expected_value() {
        let result = json!({ "rows": [{ "id": 1, "name": "a" }, { "id": 2 }], "n": 2.0 });
        for (expected, holds) in [
            (json!({ "rows": [{ "id": 2 }], "n": 2 }), true),
            (json!({ "missing": null }), true),
            (json!({ "rows": [{ "id": 3 }] }), false),
        ] {
            assert_eq!(contains(Some(&result), &expected), holds, "{expected}");
        }
    }
}
