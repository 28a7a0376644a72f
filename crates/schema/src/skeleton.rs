//! The smallest value that has everything a schema requires, with `…` where text belongs.

use serde_json::{Map, Value, json};

use super::graph::target;

/// A value nested deeper would not be read.
const MAX_LEVELS: usize = 10;
const MAX_ITEMS: u64 = 4;
/// An example that a schema gives is passed on up to this length.
const MAX_GIVEN: usize = 300;

/// The skeleton of a part of a schema; references are looked up in `root`.
pub(super) fn skeleton(root: &Value, part: &Value) -> Value {
    Skeleton { root, level: 0 }.of(part)
}

#[derive(Clone, Copy)]
struct Skeleton<'a> {
    root: &'a Value,
    level: usize,
}

impl Skeleton<'_> {
    fn of(self, schema: &Value) -> Value {
        let Some(object) = schema.as_object().filter(|_| self.level < MAX_LEVELS) else {
            return json!({});
        };
        let inner = Self {
            level: self.level + 1,
            ..self
        };
        if let Some(found) = given(object) {
            return found.clone();
        }
        if let Some(Value::String(reference)) = object.get("$ref") {
            let target =
                target(self.root, reference).and_then(|pointer| self.root.pointer(&pointer));
            return target.map_or_else(|| json!({}), |target| inner.of(target));
        }
        match kind(object) {
            Some("string") => json!(text(object)),
            Some("integer" | "number") => number(object),
            Some("boolean") => json!(false),
            Some("null") => Value::Null,
            Some("array") => inner.array(object),
            None if !object.contains_key("properties") => inner.form(object),
            _ => inner.required(object),
        }
    }

    fn array(self, object: &Map<String, Value>) -> Value {
        match object.get("items") {
            Some(items @ Value::Object(_)) => {
                let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(1);
                (0..least.clamp(1, MAX_ITEMS))
                    .map(|_| self.of(items))
                    .collect()
            }
            _ => json!([]),
        }
    }

    /// The first of several forms that is something; of several that apply at once, all.
    fn form(self, object: &Map<String, Value>) -> Value {
        if let Some(Value::Array(all)) = object.get("allOf") {
            let forms = all.iter().map(|form| self.of(form));
            return forms.reduce(united).unwrap_or_else(|| json!({}));
        }
        let forms = ["anyOf", "oneOf"]
            .into_iter()
            .find_map(|key| object.get(key)?.as_array());
        let something = |form: &&Value| form.get("type") != Some(&json!("null"));
        let form = forms.and_then(|forms| forms.iter().find(something).or_else(|| forms.first()));
        form.map_or_else(|| json!({}), |form| self.of(form))
    }

    fn required(self, object: &Map<String, Value>) -> Value {
        let names = object
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let member = |name: &str| {
            let schema = object
                .get("properties")
                .and_then(|properties| properties.get(name));
            schema.map_or_else(|| json!("…"), |schema| self.of(schema))
        };
        let members = names
            .filter_map(Value::as_str)
            .map(|name| (name.to_owned(), member(name)));
        let own: Value = members.collect::<Map<_, _>>().into();
        let inherited = object
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        inherited.map(|form| self.of(form)).fold(own, united)
    }
}

/// Returns a value that the schema itself gives.
fn given(object: &Map<String, Value>) -> Option<&Value> {
    let first = |key: &str| object.get(key)?.as_array()?.first();
    let default = object.get("default").filter(|default| !default.is_null());
    let short = |value: &&Value| value.to_string().len() < MAX_GIVEN;
    object
        .get("const")
        .or(default)
        .or_else(|| first("enum"))
        .or_else(|| first("examples").filter(short))
}

/// The type, or of several the first that is something.
fn kind(object: &Map<String, Value>) -> Option<&str> {
    match object.get("type")? {
        Value::Array(several) => {
            let something = several.iter().find(|kind| **kind != json!("null"));
            something.or_else(|| several.first())?.as_str()
        }
        one => one.as_str(),
    }
}

fn text(object: &Map<String, Value>) -> String {
    // The formats servers check most; an ellipsis would be refused there.
    let formatted = match object.get("format").and_then(Value::as_str) {
        Some("date-time") => Some("2026-01-31T12:00:00Z"),
        Some("date") => Some("2026-01-31"),
        Some("time") => Some("12:00:00Z"),
        Some("email") => Some("name@example.com"),
        Some("uri" | "url") => Some("https://example.com/"),
        Some("uuid") => Some("123e4567-e89b-42d3-a456-426614174000"),
        _ => None,
    };
    let least = object.get("minLength").and_then(Value::as_u64).unwrap_or(1);
    let least = usize::try_from(least).unwrap_or(1).clamp(1, MAX_GIVEN);
    formatted.map_or_else(|| "…".repeat(least), str::to_owned)
}

/// Zero where that is allowed, and the nearest limit otherwise.
fn number(object: &Map<String, Value>) -> Value {
    let limit = |key: &str| object.get(key).and_then(Value::as_f64);
    let above = limit("exclusiveMinimum")
        .filter(|limit| *limit >= 0.0)
        .map(|limit| limit.floor() + 1.0);
    let least = limit("minimum").filter(|limit| *limit > 0.0).map(f64::ceil);
    let below = limit("exclusiveMaximum")
        .filter(|limit| *limit <= 0.0)
        .map(|limit| limit.ceil() - 1.0);
    let most = limit("maximum")
        .filter(|limit| *limit < 0.0)
        .map(f64::floor);
    whole(above.or(least).or(below).or(most).unwrap_or(0.0))
}

/// A number without a fraction is written without one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the range"
)]
fn whole(number: f64) -> Value {
    // Beyond this, a float no longer tells neighbouring integers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.abs() <= EXACT {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// Two values that both apply: objects together have the members of both.
fn united(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Object(mut one), Value::Object(other)) => {
            for (name, value) in other {
                one.entry(name).or_insert(value);
            }
            one.into()
        }
        (one, _) => one,
    }
}
