//! Excerpts of schemas and values, short enough to be read.

use serde_json::{Map, Value};

/// The bytes of a schema that a model reads with a mistake.
const MAX_PIECE: usize = 300;
/// The bytes of a value, enough to recognize it.
const MAX_VALUE: usize = 60;
/// The levels of an outline. Deeper ones would exceed the byte limit.
const OUTLINE_LEVELS: usize = 2;

/// Returns a value and its type: `3 (a number)`.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        _ => format!(
            "{} ({})",
            truncate_text(value.to_string(), MAX_VALUE),
            type_of_value(value)
        ),
    }
}

/// Returns the type of a value.
pub(super) fn type_of_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Returns the name of a type with its article.
pub(super) fn type_with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "array" | "object" | "integer" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// Returns an excerpt of a schema as compact as necessary: whole, without prose, or only its
/// outline.
pub(super) fn schema_excerpt(schema: &Value) -> String {
    let whole = schema.to_string();
    if whole.len() <= MAX_PIECE {
        return whole;
    }
    let terse = without_prose(schema).to_string();
    if terse.len() <= MAX_PIECE {
        return terse;
    }
    truncate_text(outline(schema, OUTLINE_LEVELS).to_string(), MAX_PIECE)
}

pub(super) fn truncate_text(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

fn without_prose(schema: &Value) -> Value {
    const PROSE: [&str; 6] = [
        "description",
        "title",
        "examples",
        "$comment",
        "$schema",
        "default",
    ];
    match schema {
        Value::Object(map) => {
            let mut kept = map.clone();
            kept.retain(|key, value| !PROSE.contains(&key.as_str()) || value.is_object());
            map_members(&kept, without_prose)
        }
        Value::Array(items) => items.iter().map(without_prose).collect(),
        other => other.clone(),
    }
}

/// Applies a function to each member of an object.
fn map_members(members: &Map<String, Value>, apply: impl Fn(&Value) -> Value) -> Value {
    let members = members.iter();
    let members = members.map(|(name, value)| (name.clone(), apply(value)));
    members.collect::<Map<_, _>>().into()
}

/// Returns the types and names of a schema, `levels` deep.
fn outline(schema: &Value, levels: usize) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut kept = Map::new();
    for (key, value) in map {
        kept.extend(outline_keyword(key, value, levels).map(|value| (key.clone(), value)));
    }
    kept.into()
}

/// Returns the value of a keyword in an outline; `None` if an outline omits the keyword.
fn outline_keyword(key: &str, value: &Value, levels: usize) -> Option<Value> {
    const KEPT: [&str; 6] = ["type", "required", "enum", "const", "format", "$ref"];
    if KEPT.contains(&key) {
        return Some(value.clone());
    }
    let below = levels.checked_sub(1)?;
    match (key, value) {
        ("properties", Value::Object(properties)) => {
            Some(map_members(properties, |it| outline(it, below)))
        }
        ("items", items) => Some(outline(items, below)),
        ("anyOf" | "oneOf" | "allOf", Value::Array(forms)) => {
            Some(forms.iter().map(|form| outline(form, below)).collect())
        }
        _ => None,
    }
}
