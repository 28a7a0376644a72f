//! The text a model reads when something does not fit, made here and nowhere else.

use std::fmt;

use serde_json::{Map, Value, json};

use super::excerpt::cut;
use super::graph::target;
use super::violation::{Violation, Wrong};

const MAX_EXAMPLE: usize = 600;
const MAX_KNOWN: usize = 30;

/// What is wrong with a value, and what would have been right. Its text is made for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) violations: Vec<Violation>,
    /// The required members, with what was right of those given.
    pub(crate) example: String,
}

impl Misfit {
    pub(super) fn new(violations: Vec<Violation>, schema: &Value, given: &Value) -> Self {
        let example = cut(example(schema, given, &violations).to_string(), MAX_EXAMPLE);
        Self { violations, example }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "- {violation}")?;
        }
        write!(f, "Example: {}", self.example)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { self.path.as_str() };
        match &self.wrong {
            Wrong::Missing { expected, sent } => {
                write!(f, "{path}: missing, expected {expected}")?;
                sent.iter().try_for_each(|sent| write!(f, "; you sent `{sent}`"))?;
            }
            Wrong::Unknown { near, known } => {
                write!(f, "{path}: there is no such parameter")?;
                match (near.as_slice(), known.as_slice()) {
                    ([], []) => {}
                    ([], known) => write!(f, "; there are {}", quoted(known))?,
                    (near, _) => write!(f, "; did you mean {}?", quoted(near))?,
                }
            }
            Wrong::Unfit { expected, got } => write!(f, "{path}: expected {expected}, got {got}")?,
        }
        if self.schema.is_empty() { Ok(()) } else { write!(f, "; schema: {}", self.schema) }
    }
}

fn quoted(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_KNOWN).map(|name| format!("`{name}`")).collect();
    shown.join(", ")
}

/// Everything required, with the caller's own values where nothing was wrong with them.
fn example(schema: &Value, given: &Value, violations: &[Violation]) -> Value {
    let Value::Object(mut skeleton) = skeleton(schema, schema, 0) else {
        return skeleton(schema, schema, 0);
    };
    let fine = |name: &str| {
        let path = format!("/{name}");
        !violations.iter().any(|it| it.path == path || it.path.starts_with(&format!("{path}/")))
    };
    for (name, value) in given.as_object().into_iter().flatten().filter(|(name, _)| fine(name)) {
        skeleton.insert(name.clone(), shortened(value));
    }
    for violation in violations {
        if let Wrong::Unknown { near, .. } = &violation.wrong
            && let (Some(meant), Some(value)) = (near.first(), given.pointer(&violation.path))
            && violation.path.matches('/').count() == 1
        {
            skeleton.insert(meant.clone(), shortened(value));
        }
    }
    skeleton.into()
}

/// The smallest value that has everything required, with `…` where text belongs.
fn skeleton(root: &Value, schema: &Value, level: usize) -> Value {
    const MAX_LEVELS: usize = 10;
    const MAX_ITEMS: u64 = 4;
    let Some(object) = schema.as_object().filter(|_| level < MAX_LEVELS) else { return json!({}) };
    let inner = |schema: &Value| skeleton(root, schema, level + 1);
    if let Some(found) =
        object.get("const").or_else(|| object.get("default")).or_else(|| first(object, "enum"))
    {
        return found.clone();
    }
    if let Some(found) = first(object, "examples").filter(|it| it.to_string().len() < MAX_EXAMPLE / 2) {
        return found.clone();
    }
    if let Some(Value::String(reference)) = object.get("$ref") {
        let target = target(root, reference).and_then(|pointer| root.pointer(&pointer));
        return target.map_or_else(|| json!({}), inner);
    }
    let kind = match object.get("type") {
        Some(Value::Array(several)) => several.first(),
        other => other,
    };
    match kind.and_then(Value::as_str) {
        Some("string") => json!("…"),
        Some("integer" | "number") => number(object),
        Some("boolean") => json!(false),
        Some("null") => Value::Null,
        Some("array") => match object.get("items") {
            Some(items @ Value::Object(_)) => {
                let least = object.get("minItems").and_then(Value::as_u64).unwrap_or(1);
                (0..least.clamp(1, MAX_ITEMS)).map(|_| inner(items)).collect()
            }
            _ => json!([]),
        },
        None if !object.contains_key("properties") => {
            ["anyOf", "oneOf"].into_iter().find_map(|key| first(object, key)).map_or_else(|| json!({}), inner)
        }
        _ => required(object, inner),
    }
}

fn number(object: &Map<String, Value>) -> Value {
    let above = object.get("exclusiveMinimum").and_then(Value::as_i64).map(|limit| json!(limit + 1));
    above.or_else(|| object.get("minimum").cloned()).unwrap_or_else(|| json!(0))
}

fn required(object: &Map<String, Value>, inner: impl Fn(&Value) -> Value) -> Value {
    let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
    let member = |name: &str| {
        let schema = object.get("properties").and_then(|properties| properties.get(name));
        schema.map_or_else(|| json!("…"), &inner)
    };
    names.filter_map(Value::as_str).map(|name| (name.to_owned(), member(name))).collect::<Map<_, _>>().into()
}

fn first<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.get(key)?.as_array()?.first()
}

/// Long text gives way; the caller knows what it sent.
fn shortened(value: &Value) -> Value {
    const MAX_TEXT: usize = 40;
    match value {
        Value::String(text) if text.len() > MAX_TEXT => json!("…"),
        Value::Array(_) | Value::Object(_) if value.to_string().len() > 2 * MAX_TEXT => match value {
            Value::Array(_) => json!([]),
            _ => json!({}),
        },
        other => other.clone(),
    }
}
