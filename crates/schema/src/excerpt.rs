//! Pieces of schemas and values, short enough to be read.

use serde_json::{Map, Value};

const MAX_PIECE: usize = 300;
const MAX_VALUE: usize = 60;

/// A value and its sort: `3 (a number)`.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        _ => format!("{} ({})", cut(value.to_string(), MAX_VALUE), sort(value)),
    }
}

/// Returns the sort of a value.
pub(super) fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The name of a type with its article.
pub(super) fn sort_of(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        "array" | "object" | "integer" => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

/// A piece of a schema as compact as need be: whole, or without prose, or only its outline.
pub(super) fn piece(schema: &Value) -> String {
    let fits = |text: &String| text.len() <= MAX_PIECE;
    let whole = Some(schema.to_string()).filter(fits);
    let terse = || Some(without_prose(schema).to_string()).filter(fits);
    whole
        .or_else(terse)
        .unwrap_or_else(|| cut(outline(schema, 2).to_string(), MAX_PIECE))
}

pub(super) fn cut(mut text: String, most: usize) -> String {
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
            let kept = map
                .iter()
                .filter(|(key, value)| !PROSE.contains(&key.as_str()) || value.is_object());
            kept.map(|(key, value)| (key.clone(), without_prose(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(without_prose).collect(),
        other => other.clone(),
    }
}

/// Types and names, `levels` deep.
fn outline(schema: &Value, levels: usize) -> Value {
    const KEPT: [&str; 6] = ["type", "required", "enum", "const", "format", "$ref"];
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut kept = Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            (key, value) if KEPT.contains(&key) => drop(kept.insert(key.to_owned(), value.clone())),
            ("properties", Value::Object(properties)) if levels > 0 => {
                let inner = properties
                    .iter()
                    .map(|(name, it)| (name.clone(), outline(it, levels - 1)));
                kept.insert(key.clone(), inner.collect::<Map<_, _>>().into());
            }
            ("items", items) if levels > 0 => {
                drop(kept.insert(key.clone(), outline(items, levels - 1)));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(forms)) if levels > 0 => {
                let forms = forms.iter().map(|form| outline(form, levels - 1));
                kept.insert(key.clone(), forms.collect());
            }
            _ => {}
        }
    }
    kept.into()
}
