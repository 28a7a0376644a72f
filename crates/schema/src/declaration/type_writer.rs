//! Translates a part of a schema into the type of its values.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{Extent, literal, type_text::TypeText};
use crate::pointer::target;

/// References within references. Real schemas have five; the stack has room for hundreds.
const MAX_REFERENCES: usize = 32;

pub(super) struct TypeWriter<'a> {
    /// The schema in which references are resolved.
    pub(super) root: &'a Value,
    pub(super) extent: &'a Extent,
    /// Nested objects that are shown with their members.
    pub(super) levels: usize,
    pub(super) parts_left: Cell<usize>,
}

/// The path to a part of a schema.
#[derive(Debug, Clone, Default)]
pub(super) struct Spot {
    pub(super) level: usize,
    /// The references on the path, to which a part must not refer back.
    references: Vec<String>,
}

impl Spot {
    pub(super) fn deeper(&self) -> Self {
        Self {
            level: self.level + 1,
            references: self.references.clone(),
        }
    }
}

impl TypeWriter<'_> {
    pub(super) fn type_of(&self, schema: &Value, spot: &Spot) -> TypeText {
        let left = self.parts_left.get().saturating_sub(1);
        self.parts_left.set(left);
        match schema {
            Value::Object(object) if left > 0 => self.type_of_object(object, spot),
            Value::Bool(false) => TypeText::one("never"),
            _ => TypeText::any(),
        }
    }

    fn type_of_object(&self, object: &Map<String, Value>, spot: &Spot) -> TypeText {
        let own = self.own_type(object, spot);
        let referred = self.referenced_type(object, spot);
        let anyone = ["anyOf", "oneOf"].map(|key| self.one_of(object, key, spot));
        let all = list(object, "allOf").map(|it| self.type_of(it, spot));
        let types = own.into_iter().chain(referred);
        let types = types.chain(anyone.into_iter().flatten()).chain(all);
        let whole = TypeText::intersection(types.collect());
        if object.get("nullable") == Some(&Value::Bool(true)) {
            return TypeText::union(vec![whole, TypeText::one("null")]);
        }
        whole
    }

    /// The type of an object without the schemas that it combines.
    fn own_type(&self, object: &Map<String, Value>, spot: &Spot) -> Option<TypeText> {
        if let Some(fixed) = object.get("const") {
            return Some(literal_or_type(fixed));
        }
        if let Some(Value::Array(choices)) = object.get("enum") {
            return Some(self.choices(choices));
        }
        match object.get("type") {
            Some(Value::String(kind)) => Some(self.of_kind(kind, object, spot)),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                let types = kinds.map(|kind| self.of_kind(kind, object, spot));
                Some(TypeText::union(types.collect()))
            }
            _ => Some(self.of_kind(implied_kind(object)?, object, spot)),
        }
    }

    fn choices(&self, choices: &[Value]) -> TypeText {
        let is_long = choices.len() > self.extent.choices;
        let show = if is_long { value_type } else { literal_or_type };
        TypeText::union(choices.iter().map(show).collect())
    }

    fn of_kind(&self, kind: &str, object: &Map<String, Value>, spot: &Spot) -> TypeText {
        match kind {
            "integer" => TypeText::one("number"),
            "string" | "number" | "boolean" | "null" => TypeText::one(kind),
            "array" => self.array(object, spot),
            "object" => self.members(object, spot),
            _ => TypeText::any(),
        }
    }

    fn array(&self, object: &Map<String, Value>, spot: &Spot) -> TypeText {
        let items = object.get("items");
        let (first, rest) = match (object.get("prefixItems"), items) {
            (Some(Value::Array(first)), rest) => (first, rest),
            (_, Some(Value::Array(first))) => (first, object.get("additionalItems")),
            _ => return self.element(items, spot).array(),
        };
        let mut types: Vec<String> = first.iter().map(|it| self.type_of(it, spot).text).collect();
        if rest != Some(&Value::Bool(false)) {
            types.push(format!("...{}", self.element(rest, spot).array().text));
        }
        TypeText::one(format!("[{}]", types.join(", ")))
    }

    fn element(&self, items: Option<&Value>, spot: &Spot) -> TypeText {
        items.map_or_else(TypeText::any, |items| self.type_of(items, spot))
    }

    fn one_of(&self, object: &Map<String, Value>, key: &str, spot: &Spot) -> Option<TypeText> {
        let types: Vec<TypeText> = list(object, key).map(|it| self.type_of(it, spot)).collect();
        (!types.is_empty()).then(|| TypeText::union(types))
    }

    /// The type of a reference. A recursive one may be anything.
    fn referenced_type(&self, object: &Map<String, Value>, spot: &Spot) -> Option<TypeText> {
        let pointer = target(self.root, object.get("$ref")?.as_str()?)?;
        if spot.references.len() >= MAX_REFERENCES || spot.references.contains(&pointer) {
            return None;
        }
        let mut spot = spot.clone();
        let schema = self.root.pointer(&pointer)?;
        spot.references.push(pointer);
        Some(self.type_of(schema, &spot))
    }
}

pub(super) fn list<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Value> {
    let items = object.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

/// The type that the keywords of a schema imply if its author omitted it.
fn implied_kind(object: &Map<String, Value>) -> Option<&'static str> {
    let of_object = ["properties", "patternProperties", "additionalProperties"];
    let of_array = ["items", "prefixItems"];
    if of_object.iter().any(|key| object.contains_key(*key)) {
        return Some("object");
    }
    let is_array = of_array.iter().any(|key| object.contains_key(*key));
    is_array.then_some("array")
}

fn literal_or_type(value: &Value) -> TypeText {
    literal::value(value).map_or_else(|| value_type(value), TypeText::one)
}

fn value_type(value: &Value) -> TypeText {
    TypeText::one(match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "any[]",
        Value::Object(_) => "object",
    })
}
