//! Converts any schema to one with a plain object at the top level.
//!
//! Vendors reject a choice between schemas at the top level, lists without an item type, and
//! schemas that are not objects. The alternatives of a choice are merged into one object, and a
//! sentence lists the requirements of each. Only the top level is rewritten like this; below it,
//! vendors accept choices.

use serde_json::{Map, Value, json};

/// A schema that vendors accept, and a remark about the facts that it lost.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainSchema {
    pub schema: Value,
    /// For the description.
    pub remark: Option<String>,
}

type Object = Map<String, Value>;

/// Keywords that vendors reject at the top level, and whose alternatives are merged.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// Further keywords that vendors reject at the top level; they are dropped.
const NOT_OUTERMOST: [&str; 9] = [
    "enum",
    "const",
    "not",
    "if",
    "then",
    "else",
    "$schema",
    "$id",
    "dependentSchemas",
];
/// A longer chain of references is a cycle.
const LONGEST_CHAIN: usize = 16;
/// More alternatives than a model could choose among.
const MOST_ALTERNATIVES: usize = 256;

pub fn to_plain(schema: &Value) -> PlainSchema {
    let mut definitions = SchemaDefinitions {
        whole: schema,
        left: MOST_ALTERNATIVES,
    };
    let outer = definitions.follow_reference(schema).as_object();
    let mut outer = outer.cloned().unwrap_or_default();
    keep_definitions(&mut outer, schema);
    let remark = merge_choices(&mut outer, &mut definitions);
    make_plain_object(&mut outer);
    keep_known_required(&mut outer);
    let mut schema = Value::Object(outer);
    repair_schema(&mut schema);
    PlainSchema { schema, remark }
}

fn make_plain_object(outer: &mut Object) {
    for key in NOT_OUTERMOST {
        outer.remove(key);
    }
    outer.insert("type".to_owned(), json!("object"));
    let properties = outer.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
}

/// The schema in which a `$ref` is resolved.
struct SchemaDefinitions<'a> {
    whole: &'a Value,
    /// The number of alternatives that may still be merged: a schema may contain itself.
    left: usize,
}

impl<'a> SchemaDefinitions<'a> {
    /// Returns the schema that a reference leads to; the schema itself if it is not a reference, or
    /// a dangling one.
    fn follow_reference<'s>(&self, schema: &'s Value) -> &'s Value
    where
        'a: 's,
    {
        let mut found = schema;
        for _ in 0..LONGEST_CHAIN {
            let reference = found
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|it| it.strip_prefix('#'));
            match reference.and_then(|pointer| self.whole.pointer(pointer)) {
                Some(next) => found = next,
                None => break,
            }
        }
        found
    }

    /// Returns an alternative as an object, with its own choices merged.
    fn expand_alternative(&mut self, schema: &Value) -> Option<Object> {
        self.left = self.left.checked_sub(1)?;
        let mut object = self.follow_reference(schema).as_object()?.clone();
        merge_choices(&mut object, self);
        Some(object)
    }
}

/// Copies the definitions into a resolved reference: the schema may refer to them.
fn keep_definitions(outer: &mut Object, whole: &Value) {
    for key in ["$defs", "definitions"] {
        if let (None, Some(definitions)) = (outer.get(key), whole.get(key)) {
            outer.insert(key.to_owned(), definitions.clone());
        }
    }
    outer.remove("$ref");
}

/// Merges the alternatives into the object, and returns a sentence about their requirements.
fn merge_choices(outer: &mut Object, definitions: &mut SchemaDefinitions<'_>) -> Option<String> {
    let mut remark = None;
    for choice in CHOICES {
        let Some(Value::Array(alternatives)) = outer.remove(choice) else {
            continue;
        };
        let alternatives: Vec<Object> = alternatives
            .iter()
            .filter_map(|it| definitions.expand_alternative(it))
            .collect();
        let merged = merge_alternatives(outer, &alternatives, choice == "allOf");
        remark = remark.or(merged);
    }
    remark
}

/// `together` means that all alternatives apply at once.
fn merge_alternatives(
    outer: &mut Object,
    alternatives: &[Object],
    together: bool,
) -> Option<String> {
    add_properties(outer, alternatives, together);
    // One alternative may name parameters that another does not.
    outer.remove("additionalProperties");
    outer.remove("unevaluatedProperties");
    let needs: Vec<Vec<String>> = alternatives.iter().map(required_names).collect();
    if together {
        add_required(outer, needs.into_iter().flatten());
        return None;
    }
    add_required(outer, common_names(&needs));
    describe_needs(&needs)
}

/// A parameter that several alternatives describe differently may match any of them.
fn add_properties(outer: &mut Object, alternatives: &[Object], together: bool) {
    let own = schema_properties(outer).cloned().unwrap_or_default();
    let mut united = own.clone();
    let properties = alternatives.iter().filter_map(schema_properties).flatten();
    for (name, schema) in properties.filter(|(name, _)| !own.contains_key(*name)) {
        let known = united.entry(name.clone()).or_insert_with(|| schema.clone());
        if known != schema && !together {
            add_alternative(known, schema);
        }
    }
    outer.insert("properties".to_owned(), Value::Object(united));
}

fn schema_properties(schema: &Object) -> Option<&Object> {
    schema.get("properties")?.as_object()
}

fn add_alternative(known: &mut Value, schema: &Value) {
    match known
        .as_object_mut()
        .and_then(|known| known.get_mut("anyOf"))
        .and_then(Value::as_array_mut)
    {
        Some(alternatives) if !alternatives.contains(schema) => alternatives.push(schema.clone()),
        Some(_) => {}
        None => *known = json!({ "anyOf": [known.clone(), schema.clone()] }),
    }
}

fn required_names(schema: &Object) -> Vec<String> {
    let names = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn add_required(outer: &mut Object, names: impl IntoIterator<Item = String>) {
    let mut all = required_names(outer);
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    outer.insert("required".to_owned(), json!(all));
}

/// Returns the parameters that every alternative needs.
fn common_names(needs: &[Vec<String>]) -> Vec<String> {
    let Some((first, others)) = needs.split_first() else {
        return Vec::new();
    };
    let mut common = first.clone();
    common.retain(|name| others.iter().all(|other| other.contains(name)));
    common
}

/// Returns a sentence such as `Needs path, or url and key.`
fn describe_needs(needs: &[Vec<String>]) -> Option<String> {
    let mut sets: Vec<String> = Vec::new();
    for set in needs.iter().filter(|set| !set.is_empty()) {
        let set = set.join(" and ");
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    (sets.len() > 1).then(|| format!("Needs {}.", sets.join(", or ")))
}

/// Some vendors look up a required name among the properties.
fn keep_known_required(outer: &mut Object) {
    let known: Vec<String> = required_names(outer)
        .into_iter()
        .filter(|name| outer["properties"].get(name).is_some())
        .collect();
    match known.is_empty() {
        true => drop(outer.remove("required")),
        false => drop(outer.insert("required".to_owned(), json!(known))),
    }
}

/// At every level: schemas are objects, lists have item schemas, and types are JSON types.
fn repair_schema(schema: &mut Value) {
    if schema.is_boolean() {
        *schema = json!({});
    }
    let Value::Object(object) = schema else {
        return;
    };
    repair_type(object);
    repair_items(object);
    repair_subschemas(object);
}

fn repair_subschemas(object: &mut Object) {
    for key in ["properties", "$defs", "definitions", "patternProperties"] {
        if let Some(Value::Object(inner)) = object.get_mut(key) {
            inner.values_mut().for_each(repair_schema);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(inner)) = object.get_mut(key) {
            inner.iter_mut().for_each(repair_schema);
        }
    }
    for key in ["items", "not", "contains"] {
        if let Some(inner) = object.get_mut(key) {
            repair_schema(inner);
        }
    }
    // Here vendors accept true and false in place of a schema.
    if let Some(inner) = object
        .get_mut("additionalProperties")
        .filter(|it| it.is_object())
    {
        repair_schema(inner);
    }
}

const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

fn is_json_type(kind: &Value) -> bool {
    kind.as_str().is_some_and(|kind| TYPES.contains(&kind))
}

/// Drops types that JSON does not have.
fn repair_type(object: &mut Object) {
    let Some(kind) = object.get_mut("type") else {
        return;
    };
    let keep = match kind {
        Value::Array(kinds) => {
            kinds.retain(is_json_type);
            !kinds.is_empty()
        }
        kind => is_json_type(kind),
    };
    if !keep {
        object.remove("type");
    }
}

fn is_list(schema: &Object) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    }
}

/// Gives every list a schema for its items.
fn repair_items(object: &mut Object) {
    let is_list = is_list(object);
    match object.get_mut("items") {
        // One schema per position, as in drafts before 2020. Any items may follow, unless
        // `additionalItems` forbids them.
        Some(Value::Array(places)) => {
            let places = std::mem::take(places);
            let ends = object.get("additionalItems") == Some(&json!(false)) && !places.is_empty();
            let any = ends.then(|| json!({ "anyOf": places }));
            object.insert("items".to_owned(), any.unwrap_or_else(|| json!({})));
        }
        None if is_list => drop(object.insert("items".to_owned(), json!({}))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &Value, remark: Option<&str>) {
        let plain = to_plain(schema);
        assert_eq!((&plain.schema, plain.remark.as_deref()), (expected, remark));
    }

    #[test]
    fn a_schema_that_is_not_an_object_becomes_one() {
        let empty = json!({ "type": "object", "properties": {} });
        for schema in [
            json!({}),
            json!(true),
            json!(null),
            json!({ "type": "string" }),
            json!({ "not": {} }),
        ] {
            check(&schema, &empty, None);
        }
    }

    #[test]
    fn a_choice_at_the_top_level_is_merged_into_one_object_with_a_remark() {
        check(
            &json!({
                "type": "object",
                "properties": { "id": { "type": "string" } },
                "required": ["id"],
                "additionalProperties": false,
                "anyOf": [
                    { "properties": { "path": { "type": "string" } }, "required": ["path"] },
                    { "properties": { "url": {}, "path": { "type": "null" } }, "required": ["url"] },
                ],
            }),
            &json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "path": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                    "url": {},
                },
                "required": ["id"],
            }),
            Some("Needs path, or url."),
        );
        check(
            &json!({ "allOf": [{ "properties": { "a": {} }, "required": ["a"] }, { "properties": { "b": {} } }] }),
            &json!({ "type": "object", "properties": { "a": {}, "b": {} }, "required": ["a"] }),
            None,
        );
    }

    #[test]
    fn a_reference_at_the_top_level_is_followed_and_a_cycle_ends() {
        check(
            &json!({ "$ref": "#/$defs/in", "$defs": { "in": { "properties": { "a": { "$ref": "#/$defs/b" } } }, "b": {} } }),
            &json!({
                "properties": { "a": { "$ref": "#/$defs/b" } },
                "$defs": { "in": { "properties": { "a": { "$ref": "#/$defs/b" } } }, "b": {} },
                "type": "object",
            }),
            None,
        );
        let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        assert_eq!(to_plain(&circle).schema["type"], "object");
        let itself =
            json!({ "anyOf": vec![json!({ "$ref": "#" }); 50], "properties": { "a": {} } });
        assert_eq!(to_plain(&itself).schema["properties"], json!({ "a": {} }));
    }

    #[test]
    fn lists_have_item_schemas_and_types_are_json_types() {
        check(
            &json!({
                "properties": {
                    "a": { "type": "array" },
                    "b": { "type": ["array", "null"], "items": [{ "type": "string" }, true], "additionalItems": false },
                    "c": { "type": "any", "description": "x" },
                    "d": true,
                },
                "required": ["a", "gone"],
            }),
            &json!({
                "properties": {
                    "a": { "type": "array", "items": {} },
                    "b": {
                        "type": ["array", "null"],
                        "items": { "anyOf": [{ "type": "string" }, {}] },
                        "additionalItems": false,
                    },
                    "c": { "description": "x" },
                    "d": {},
                },
                "required": ["a"],
                "type": "object",
            }),
            None,
        );
    }
}
