//! One schema for the actions of a tool: `action`, and the properties of all of them.
//!
//! It is looser than the schema of each action, because model vendors reject a choice between
//! schemas at the top level. A call is checked against the schema of its own action.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::file::schema::{properties, required_names};
use crate::file::{ToolAction, ToolFile};

pub(crate) fn union_schema(actions: &[ToolAction]) -> Map<String, Value> {
    let parts = action_parts(actions);
    let mut all = Map::new();
    all.insert(ToolFile::ACTION.to_owned(), action_property(actions));
    for name in names(&parts) {
        all.insert(name.to_owned(), property(name, &parts));
    }
    let needed: Vec<&str> = names(&parts)
        .into_iter()
        .filter(|name| parts.iter().all(|part| part.requires(name)))
        .collect();
    let needed: Vec<&str> = [ToolFile::ACTION].into_iter().chain(needed).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), all.into());
    schema.insert("required".to_owned(), json!(needed));
    let definitions: Map<String, Value> = parts.into_iter().flat_map(|it| it.definitions).collect();
    if !definitions.is_empty() {
        schema.insert(DEFINITIONS.to_owned(), definitions.into());
    }
    schema
}

const DEFINITIONS: &str = "$defs";

/// The schema of one action, whose definitions do not clash with other actions.
struct ActionPart<'a> {
    name: &'a str,
    schema: Map<String, Value>,
    definitions: Map<String, Value>,
}

/// The actions in which a property occurs with the same schema.
struct PropertyForm {
    schema: Value,
    actions: Vec<String>,
}

impl ActionPart<'_> {
    fn property(&self, name: &str) -> Option<&Value> {
        properties(&self.schema).find_map(|(it, property)| (it == name).then_some(property))
    }

    fn requires(&self, name: &str) -> bool {
        required_names(&self.schema).any(|it| it == name)
    }

    /// The name of the action, marked if it requires the property.
    fn mention(&self, property: &str, is_needed_by_all: bool) -> String {
        match self.requires(property) && !is_needed_by_all {
            true => format!("{} (required)", self.name),
            false => self.name.to_owned(),
        }
    }
}

fn action_parts(actions: &[ToolAction]) -> Vec<ActionPart<'_>> {
    let mut taken: Map<String, Value> = Map::new();
    let parts = actions.iter().map(|action| {
        let mut schema = Value::Object(action.arguments_schema());
        let own = definitions_of(&schema);
        let clashing = own.iter().filter(|(name, definition)| {
            taken.get(*name).is_some_and(|other| other != *definition)
        });
        let clashing: BTreeSet<String> = clashing.map(|(name, _)| name.clone()).collect();
        rename(&mut schema, &clashing, action.name.as_str());
        let definitions = definitions_of(&schema);
        taken.extend(definitions.clone());
        ActionPart {
            name: action.name.as_str(),
            schema: schema.as_object().cloned().unwrap_or_default(),
            definitions,
        }
    });
    parts.collect()
}

fn definitions_of(schema: &Value) -> Map<String, Value> {
    let definitions = schema.get(DEFINITIONS).and_then(Value::as_object);
    definitions.cloned().unwrap_or_default()
}

/// Prefixes definitions, and references to them, with the name of the action.
fn rename(schema: &mut Value, names: &BTreeSet<String>, action: &str) {
    if names.is_empty() {
        return;
    }
    rename_references(schema, names, action);
    if let Some(Value::Object(definitions)) = schema.get_mut(DEFINITIONS) {
        let renamed = std::mem::take(definitions).into_iter();
        *definitions = renamed
            .map(|(name, definition)| match names.contains(&name) {
                true => (format!("{action}_{name}"), definition),
                false => (name, definition),
            })
            .collect();
    }
}

fn rename_references(value: &mut Value, names: &BTreeSet<String>, action: &str) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(name) = reference.strip_prefix("#/$defs/")
                && names.contains(name)
            {
                *reference = format!("#/$defs/{action}_{name}");
            }
            let members = members.values_mut();
            members.for_each(|member| rename_references(member, names, action));
        }
        Value::Array(items) => {
            let items = items.iter_mut();
            items.for_each(|item| rename_references(item, names, action));
        }
        _ => {}
    }
}

fn action_property(actions: &[ToolAction]) -> Value {
    let names: Vec<&str> = actions.iter().map(|it| it.name.as_str()).collect();
    let lines: Vec<String> = actions
        .iter()
        .map(|it| format!("{}: {}", it.name, it.description))
        .collect();
    json!({ "type": "string", "enum": names, "description": lines.join("\n") })
}

/// The names of all properties, in the order of the actions.
fn names<'a>(parts: &'a [ActionPart<'_>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for part in parts {
        for (name, _) in properties(&part.schema) {
            if !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
    }
    names
}

fn property(name: &str, parts: &[ActionPart<'_>]) -> Value {
    let is_needed_by_all = parts.iter().all(|part| part.requires(name));
    let mut forms: Vec<PropertyForm> = Vec::new();
    for part in parts {
        let Some(schema) = part.property(name) else {
            continue;
        };
        let mention = part.mention(name, is_needed_by_all);
        match forms.iter_mut().find(|form| form.schema == *schema) {
            Some(form) => form.actions.push(mention),
            None => forms.push(PropertyForm {
                schema: schema.clone(),
                actions: vec![mention],
            }),
        }
    }
    let mentioned: usize = forms.iter().map(|form| form.actions.len()).sum();
    let says_actions = mentioned < parts.len()
        || forms.len() > 1
        || forms
            .iter()
            .flat_map(|form| &form.actions)
            .any(|it| is_marked(it));
    let mut described: Vec<Value> = forms
        .into_iter()
        .map(|form| describe_property(form, says_actions))
        .collect();
    match described.len() {
        1 => described.remove(0),
        _ => json!({ "anyOf": described }),
    }
}

fn is_marked(mention: &str) -> bool {
    mention.ends_with(')')
}

/// Adds the property's actions in front of its own description.
fn describe_property(form: PropertyForm, says_actions: bool) -> Value {
    let mut schema = form.schema;
    if !says_actions {
        return schema;
    }
    let actions = form.actions.join(", ");
    let description = match schema.get("description").and_then(Value::as_str) {
        Some(description) => format!("{actions}: {description}"),
        None => actions,
    };
    if let Some(members) = schema.as_object_mut() {
        members.insert("description".to_owned(), description.into());
    }
    schema
}
