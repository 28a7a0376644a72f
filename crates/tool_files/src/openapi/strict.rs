//! Strict schemas, made from loose ones. References are inlined, because a tool file is
//! self-contained.

use std::cell::Cell;

use kitbag_domain::text::first_sentence;
use serde_json::{Map, Value, json};

use super::document::{OpenApiDocument, reference};

/// In bytes, as JSON. A model that uses the tool reads all of it.
const LARGEST: usize = 24 * 1024;
/// The depths to try, until a schema is small enough.
const DEPTHS: [usize; 6] = [12, 8, 5, 3, 2, 1];
/// The most parts of a schema to visit in one attempt. Mutually recursive schemas have millions.
const MOST_PARTS: usize = 2000;

/// Keywords that mean the same in both dialects.
const KEPT: [&str; 16] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "maxProperties",
];

/// Returns the schema without references. Parts nested too deeply accept any value.
pub(super) fn strict(document: &OpenApiDocument, schema: &Value) -> Value {
    let mut made = json!({});
    for depth in DEPTHS {
        let attempt = Strictness {
            document,
            left: Cell::new(MOST_PARTS),
        };
        made = attempt.part(schema, depth);
        if attempt.left.get() > 0 && made.to_string().len() <= LARGEST {
            break;
        }
    }
    made
}

/// Removes the patterns from a schema and all schemas in it.
pub(super) fn remove_patterns(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // A property may have this name, too.
            if members.get("pattern").is_some_and(Value::is_string) {
                members.shift_remove("pattern");
            }
            members.values_mut().for_each(remove_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_patterns),
        _ => {}
    }
}

struct Strictness<'d> {
    document: &'d OpenApiDocument,
    /// The number of parts that may still be visited.
    left: Cell<usize>,
}

impl Strictness<'_> {
    /// Returns the schema, limited to `depth` further levels.
    fn part(&self, schema: &Value, depth: usize) -> Value {
        let Some(Value::Object(members)) = self.document.resolve(schema) else {
            return json!({});
        };
        let described = description(schema)
            .or_else(|| members.get("description").and_then(shorten_description));
        if depth == 0 || !self.may_go_on() {
            return with_description(Map::new(), described);
        }
        let members = self.merge_all_of(members, depth);
        let alternatives = self.alternatives(&members, depth);
        let mut made = match alternatives {
            Some(alternatives) => alternatives,
            None => self.plain(&members, depth),
        };
        if members.get("nullable") == Some(&Value::Bool(true)) {
            allow_null(&mut made);
        }
        with_description(made, described)
    }

    fn may_go_on(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left > 0
    }

    fn plain(&self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut made: Map<String, Value> = KEPT
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), members.get(*key)?.clone())))
            .collect();
        number_limits(&mut made);
        if let Some(items) = members.get("items") {
            made.insert("items".to_owned(), self.part(items, depth - 1));
        }
        if describes_object(members) {
            self.close_object(&mut made, members, depth);
        }
        made
    }

    /// Lists the properties and rejects all others; an object without any accepts names that are
    /// data.
    fn close_object(
        &self,
        made: &mut Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) {
        made.entry("type").or_insert_with(|| "object".into());
        let properties = self.properties(members, depth);
        let required = required_properties(members, &properties);
        let additional = match members.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => self.part(schema, depth - 1),
            _ if properties.is_empty()
                && members.get("additionalProperties") != Some(&json!(false)) =>
            {
                json!({})
            }
            _ => json!(false),
        };
        if !properties.is_empty() {
            made.insert("properties".to_owned(), properties.into());
        }
        if !required.is_empty() {
            made.insert("required".to_owned(), required.into());
        }
        made.insert("additionalProperties".to_owned(), additional);
    }

    /// Read-only properties are dropped.
    fn properties(&self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let properties = members.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        properties
            .filter(|(_, schema)| !self.is_read_only(schema))
            .map(|(name, schema)| (name.clone(), self.part(schema, depth - 1)))
            .collect()
    }

    fn is_read_only(&self, schema: &Value) -> bool {
        let resolved = self.document.resolve(schema);
        [Some(schema), resolved]
            .into_iter()
            .flatten()
            .any(|it| it["readOnly"] == true)
    }

    /// Returns `anyOf` with the rest of the schema merged into each alternative; an alternative
    /// must be complete, because it rejects unknown members.
    fn alternatives(
        &self,
        members: &Map<String, Value>,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let word = ["oneOf", "anyOf"]
            .into_iter()
            .find(|word| members.contains_key(*word))?;
        let mut beside = members.clone();
        let choices = beside.shift_remove(word)?;
        let mut made: Vec<Value> = Vec::new();
        for choice in choices.as_array()? {
            let whole = self.overlay_choice(&beside, choice);
            let part = self.part(&Value::Object(whole), depth);
            if !made.contains(&part) {
                made.push(part);
            }
        }
        match <[Value; 1]>::try_from(made) {
            Ok([Value::Object(only)]) => Some(only),
            Ok(_) => None,
            Err(several) => Some(Map::from_iter([("anyOf".to_owned(), several.into())])),
        }
    }

    fn overlay_choice(&self, beside: &Map<String, Value>, choice: &Value) -> Map<String, Value> {
        let mut whole = beside.clone();
        whole.shift_remove("description");
        whole.shift_remove("nullable");
        if let Some(Value::Object(choice)) = self.document.resolve(choice) {
            overlay(&mut whole, choice);
        }
        whole
    }

    /// Returns the schema with the requirements of `allOf` merged in.
    fn merge_all_of(&self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let Some(Value::Array(all)) = members.get("allOf") else {
            return members.clone();
        };
        let mut whole = Map::new();
        for one in all {
            if let Some(Value::Object(one)) = self.document.resolve(one) {
                // A schema that includes itself would never end.
                let one = match depth > 1 && self.may_go_on() {
                    true => self.merge_all_of(one, depth - 1),
                    false => one.clone(),
                };
                overlay(&mut whole, &one);
            }
        }
        let mut rest = members.clone();
        rest.shift_remove("allOf");
        overlay(&mut whole, &rest);
        whole
    }
}

/// Merges the requirements of one schema into another: properties and required names add up.
fn overlay(whole: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                known.extend(more.clone());
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more
                    .iter()
                    .filter(|it| !known.contains(it))
                    .cloned()
                    .collect();
                known.extend(new);
            }
            _ => drop(whole.insert(key.clone(), value.clone())),
        }
    }
}

fn describes_object(members: &Map<String, Value>) -> bool {
    let named = match members.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(_) => false,
        None => members.contains_key("additionalProperties"),
    };
    named || members.contains_key("properties")
}

/// Returns the required names that are still properties.
fn required_properties(
    members: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> Vec<Value> {
    let required = members.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    required
        .filter(|name| properties.contains_key(*name))
        .map(Value::from)
        .collect()
}

/// In version 3.0, a boolean makes a limit exclusive; later versions give the exclusive limit
/// itself.
fn number_limits(made: &mut Map<String, Value>) {
    for (exclusive, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        let Some(Value::Bool(is_exclusive)) = made.get(exclusive).cloned() else {
            continue;
        };
        made.shift_remove(exclusive);
        if is_exclusive && let Some(number) = made.shift_remove(limit) {
            made.insert(exclusive.to_owned(), number);
        }
    }
}

/// Version 3.0 has `nullable`; later versions list null among the types.
fn allow_null(made: &mut Map<String, Value>) {
    if let Some(Value::String(name)) = made.get("type").cloned() {
        made.insert("type".to_owned(), json!([name, "null"]));
    }
    if let Some(Value::Array(values)) = made.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(Value::Array(choices)) = made.get_mut("anyOf") {
        choices.push(json!({ "type": "null" }));
    }
}

/// Returns the description next to a reference, which is more specific than the referenced one.
fn description(schema: &Value) -> Option<String> {
    reference(schema)?;
    shorten_description(schema.get("description")?)
}

fn shorten_description(description: &Value) -> Option<String> {
    let text = first_sentence(description.as_str()?);
    (!text.is_empty()).then_some(text)
}

fn with_description(mut made: Map<String, Value>, description: Option<String>) -> Value {
    if let Some(description) = description {
        made.insert("description".to_owned(), description.into());
    }
    Value::Object(made)
}
