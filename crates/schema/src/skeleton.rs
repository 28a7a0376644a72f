//! Creates the smallest value that a schema accepts, with `…` for text.

use serde_json::{Map, Value, json};

use super::pointer::target;

/// A value nested deeper would not be read.
const MAX_LEVELS: usize = 10;
/// A list has at most this many items, whatever its schema requires.
const MAX_ITEMS: u64 = 4;
/// The length up to which a schema's own example is used.
const MAX_GIVEN: usize = 300;

/// Returns the skeleton of a part of a schema; references are resolved in `root`.
pub(super) fn skeleton(root: &Value, part: &Value) -> Value {
    Skeleton { root, level: 0 }.build(part)
}

#[derive(Clone, Copy)]
struct Skeleton<'a> {
    root: &'a Value,
    level: usize,
}

impl Skeleton<'_> {
    fn build(self, schema: &Value) -> Value {
        let Some(object) = schema.as_object().filter(|_| self.level < MAX_LEVELS) else {
            return json!({});
        };
        if let Some(found) = given_value(object) {
            return found.clone();
        }
        let inner = Self {
            level: self.level + 1,
            ..self
        };
        match object.get("$ref") {
            Some(Value::String(reference)) => inner.resolve_reference(reference),
            _ => inner.build_kind(object),
        }
    }

    fn resolve_reference(self, reference: &str) -> Value {
        let target = target(self.root, reference);
        let target = target.and_then(|pointer| self.root.pointer(&pointer));
        target.map_or_else(|| json!({}), |target| self.build(target))
    }

    fn build_kind(self, object: &Map<String, Value>) -> Value {
        match kind(object) {
            Some("string") => json!(text(object)),
            Some("integer" | "number") => number(object),
            Some("boolean") => json!(false),
            Some("null") => Value::Null,
            Some("array") => self.array(object),
            None if !object.contains_key("properties") => self.combine_forms(object),
            _ => self.required_members(object),
        }
    }

    fn array(self, object: &Map<String, Value>) -> Value {
        match object.get("items") {
            Some(items @ Value::Object(_)) => {
                let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(1);
                let numbers = 0..least.clamp(1, MAX_ITEMS);
                numbers.map(|_| self.build(items)).collect()
            }
            _ => json!([]),
        }
    }

    /// Combines all of several forms that apply at once, and the first of several alternatives that
    /// is not null.
    fn combine_forms(self, object: &Map<String, Value>) -> Value {
        if let Some(Value::Array(all)) = object.get("allOf") {
            let forms = all.iter().map(|form| self.build(form));
            return forms.reduce(merge_values).unwrap_or_else(|| json!({}));
        }
        let forms = ["anyOf", "oneOf"]
            .into_iter()
            .find_map(|key| object.get(key)?.as_array());
        let form = forms.and_then(|forms| not_null(forms, |form| is_null(&form["type"])));
        form.map_or_else(|| json!({}), |form| self.build(form))
    }

    fn required_members(self, object: &Map<String, Value>) -> Value {
        let names = list(object, "required").filter_map(Value::as_str);
        let members = names.map(|name| (name.to_owned(), self.member(object, name)));
        let own: Value = members.collect::<Map<_, _>>().into();
        let inherited = list(object, "allOf").map(|form| self.build(form));
        inherited.fold(own, merge_values)
    }

    fn member(self, object: &Map<String, Value>, name: &str) -> Value {
        let properties = object.get("properties");
        let schema = properties.and_then(|properties| properties.get(name));
        schema.map_or_else(|| json!("…"), |schema| self.build(schema))
    }
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    let items = object.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

/// Returns a value that the schema itself gives.
fn given_value(object: &Map<String, Value>) -> Option<&Value> {
    let default = object.get("default").filter(|default| !default.is_null());
    let fixed = object.get("const").or(default);
    let listed = fixed.or_else(|| first_item(object, "enum"));
    listed.or_else(|| first_item(object, "examples").filter(|it| it.to_string().len() < MAX_GIVEN))
}

fn first_item<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.get(key)?.as_array()?.first()
}

/// Returns the type, or the first of several that is not null.
fn kind(object: &Map<String, Value>) -> Option<&str> {
    match object.get("type")? {
        Value::Array(several) => not_null(several, is_null)?.as_str(),
        one => one.as_str(),
    }
}

/// Returns the first that does not allow only null, or else the first.
fn not_null(several: &[Value], is_null: fn(&Value) -> bool) -> Option<&Value> {
    let other = several.iter().find(|it| !is_null(it));
    other.or_else(|| several.first())
}

fn is_null(kind: &Value) -> bool {
    kind == "null"
}

fn text(object: &Map<String, Value>) -> String {
    // Servers check these formats most, and would reject an ellipsis.
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

/// Returns zero if it is allowed, and the nearest limit otherwise.
fn number(object: &Map<String, Value>) -> Value {
    let above = limit(object, "exclusiveMinimum").filter(|limit| *limit >= 0.0);
    let least = limit(object, "minimum").filter(|limit| *limit > 0.0);
    let below = limit(object, "exclusiveMaximum").filter(|limit| *limit <= 0.0);
    let most = limit(object, "maximum").filter(|limit| *limit < 0.0);
    let lowest = above
        .map(|limit| limit.floor() + 1.0)
        .or(least.map(f64::ceil));
    let highest = below
        .map(|limit| limit.ceil() - 1.0)
        .or(most.map(f64::floor));
    whole_number(lowest.or(highest).unwrap_or(0.0))
}

fn limit(object: &Map<String, Value>, key: &str) -> Option<f64> {
    object.get(key).and_then(Value::as_f64)
}

/// Writes a number without a fraction as an integer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is whole and within the range"
)]
fn whole_number(number: f64) -> Value {
    // Beyond this, a float no longer distinguishes neighbouring integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.abs() <= EXACT {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// Merges two values that both apply: the result has the members of both objects.
fn merge_values(one: Value, other: Value) -> Value {
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
