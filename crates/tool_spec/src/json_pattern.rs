//! A JSON body with placeholders.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::fill::FillValues;
use crate::placeholder::{Placeholder, PlaceholderError};
use crate::text_pattern::TextPattern;

#[derive(Debug, Clone, PartialEq)]
pub enum JsonPattern {
    /// A value without placeholders.
    Constant(Value),
    /// A text that is a single placeholder becomes the value with its own type.
    Text(TextPattern),
    /// `"{*}"`: the arguments that no other pattern names.
    Rest,
    /// The members of a member called `...` become members of the object itself.
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
}

/// The name of a member that is replaced by its own members.
const SPREAD: &str = "...";

impl JsonPattern {
    /// Reads the pattern from a JSON value.
    pub fn from_value(value: &Value) -> Result<Self, PlaceholderError> {
        let read = match value {
            Value::String(text) if text == "{*}" => Self::Rest,
            Value::String(text) => Self::Text(text.parse()?),
            Value::Array(items) => Self::Array(
                items
                    .iter()
                    .map(Self::from_value)
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) => {
                Self::Object(members.iter().map(parse_member).collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Constant(value.clone()),
        };
        Ok(if read.has_placeholders() {
            read
        } else {
            Self::Constant(read.to_constant())
        })
    }

    /// Returns the body. An object stays an object even if all its values are missing.
    pub fn fill(&self, values: &FillValues<'_>) -> Option<Value> {
        match self {
            Self::Object(members) => Some(Value::Object(fill_members(members, values).members)),
            Self::Rest => Some(Value::Object(values.remaining_arguments())),
            _ => self.fill_part(values),
        }
    }

    pub fn placeholders(&self) -> Vec<&Placeholder> {
        match self {
            Self::Constant(_) | Self::Rest => Vec::new(),
            Self::Text(text) => text.placeholders().collect(),
            Self::Array(items) => items.iter().flat_map(Self::placeholders).collect(),
            Self::Object(members) => members
                .iter()
                .flat_map(|(_, member)| member.placeholders())
                .collect(),
        }
    }

    /// True if it contains `{*}`.
    pub fn takes_rest(&self) -> bool {
        match self {
            Self::Rest => true,
            Self::Constant(_) | Self::Text(_) => false,
            Self::Array(items) => items.iter().any(Self::takes_rest),
            Self::Object(members) => members.iter().any(|(_, member)| member.takes_rest()),
        }
    }

    fn has_placeholders(&self) -> bool {
        self.takes_rest() || !self.placeholders().is_empty()
    }

    /// The value of a pattern without placeholders, in which `{{` is a brace.
    fn to_constant(&self) -> Value {
        let empty = Map::new();
        let values = FillValues::new(&empty, &empty, BTreeSet::new(), &no_field);
        self.fill_part(&values).unwrap_or_default()
    }

    /// Returns a part of the body; `None` if it has placeholders and none of them has a value.
    fn fill_part(&self, values: &FillValues<'_>) -> Option<Value> {
        match self {
            Self::Constant(value) => Some(value.clone()),
            Self::Text(text) => text.fill_value(values),
            Self::Rest => Some(values.remaining_arguments())
                .filter(|rest| !rest.is_empty())
                .map(Value::Object),
            Self::Array(items) => {
                let filled = fill_items(items, values);
                (filled.any_given || !self.has_placeholders()).then_some(Value::Array(filled.items))
            }
            Self::Object(members) => {
                let filled = fill_members(members, values);
                (filled.any_given || !self.has_placeholders())
                    .then_some(Value::Object(filled.members))
            }
        }
    }
}

fn no_field(_: &str) -> Option<String> {
    None
}

struct FilledMembers {
    members: Map<String, Value>,
    any_given: bool,
}

struct FilledItems {
    items: Vec<Value>,
    any_given: bool,
}

fn parse_member(
    (name, value): (&String, &Value),
) -> Result<(String, JsonPattern), PlaceholderError> {
    Ok((name.clone(), JsonPattern::from_value(value)?))
}

fn fill_members(members: &[(String, JsonPattern)], values: &FillValues<'_>) -> FilledMembers {
    let mut filled = FilledMembers {
        members: Map::new(),
        any_given: false,
    };
    for (name, pattern) in members {
        let Some(value) = pattern.fill_part(values) else {
            continue;
        };
        filled.any_given |= pattern.has_placeholders();
        match value {
            Value::Object(inner) if name == SPREAD => filled.members.extend(inner),
            value => drop(filled.members.insert(name.clone(), value)),
        }
    }
    filled
}

fn fill_items(patterns: &[JsonPattern], values: &FillValues<'_>) -> FilledItems {
    let mut filled = FilledItems {
        items: Vec::new(),
        any_given: false,
    };
    for pattern in patterns {
        if let Some(value) = pattern.fill_part(values) {
            filled.any_given |= pattern.has_placeholders();
            filled.items.push(value);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pattern: &Value, arguments: &Value, expected: &Value) {
        let pattern = JsonPattern::from_value(pattern).unwrap();
        let arguments = arguments.as_object().unwrap().clone();
        let defaults = json!({ "dry": true }).as_object().unwrap().clone();
        let words = pattern.placeholders().into_iter();
        let named = words.filter_map(Placeholder::argument_name).collect();
        let values = FillValues::new(&arguments, &defaults, named, &field);
        assert_eq!(pattern.fill(&values).unwrap(), *expected);
    }

    fn field(name: &str) -> Option<String> {
        (name == "account").then(|| "a-1".to_owned())
    }

    #[test]
    fn a_single_placeholder_keeps_its_type_and_within_text_becomes_text() {
        check(
            &json!({ "n": "{n}", "t": "n={n}", "who": "{credential.account}", "deep": "{o.list.1}" }),
            &json!({ "n": 3, "o": { "list": [1, null] } }),
            &json!({ "n": 3, "t": "n=3", "who": "a-1", "deep": null }),
        );
        check(
            &json!({ "tags": "{tags,}", "list": "{tags}", "brace": "{{x}} {tags}", "text": "{o,}" }),
            &json!({ "tags": ["a", "b"], "o": { "k": 1 } }),
            &json!({ "tags": "a,b", "list": ["a", "b"], "brace": "{x} a,b", "text": "{\"k\":1}" }),
        );
    }

    #[test]
    fn a_part_for_which_nothing_was_given_is_left_out_with_its_constants() {
        let mail = json!({
            "to": ["{to}"],
            "body": {
                "text": { "data": "{text}", "charset": "UTF-8" },
                "html": { "data": "{html}", "charset": "UTF-8" },
            },
            "flags": { "fixed": true },
            "empty": {},
            "of": "{credential.missing}",
        });
        check(
            &mail,
            &json!({ "html": "<b>" }),
            &json!({ "body": { "html": { "data": "<b>", "charset": "UTF-8" } }, "flags": { "fixed": true }, "empty": {} }),
        );
        check(
            &mail,
            &json!({}),
            &json!({ "flags": { "fixed": true }, "empty": {} }),
        );
        check(&json!({ "x": "{x}" }), &json!({}), &json!({}));
    }

    #[test]
    fn the_rest_is_every_argument_that_no_placeholder_names_defaults_included() {
        let arguments = json!({ "id": 7, "a": 1, "b": [2] });
        check(
            &json!("{*}"),
            &arguments,
            &json!({ "id": 7, "a": 1, "b": [2], "dry": true }),
        );
        check(
            &json!({ "key": "{id}", "fields": "{*}" }),
            &arguments,
            &json!({ "key": 7, "fields": { "a": 1, "b": [2], "dry": true } }),
        );
        check(
            &json!({ "version": "1", "...": "{*}", "id": "{id}" }),
            &arguments,
            &json!({ "version": "1", "a": 1, "b": [2], "dry": true, "id": 7 }),
        );
    }

    #[test]
    fn an_invalid_placeholder_is_rejected() {
        for (text, reason) in [
            ("{", "unclosed brace"),
            ("a } b", "unmatched closing brace"),
            ("{a b}", "`{a b}` is not a placeholder"),
            ("{}", "`{}` is not a placeholder"),
            ("{credential}", "`{credential}` is not a placeholder"),
            (
                "all: {*}",
                "`{*}` is only allowed in a body, as the value of a member",
            ),
            (
                "{a...}",
                "`{a...}` keeps slashes, which is only allowed in a path",
            ),
        ] {
            let found = JsonPattern::from_value(&json!([text])).unwrap_err();
            assert_eq!(found.to_string(), reason);
        }
    }
}
