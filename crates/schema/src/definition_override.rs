//! A tool's definition with the operator's changes: with other descriptions, and without fixed or
//! hidden arguments.

use kitbag_wire::{RawObject, raw};
use serde_json::{Map, Value, json};

use crate::Checker;

/// The operator's changes in a definition.
#[derive(Debug, Clone, Copy)]
pub struct DefinitionOverride<'a> {
    pub description: Option<&'a str>,
    /// The arguments that every call gets, whatever the client sends.
    pub fixed: &'a Map<String, Value>,
    /// The arguments that no client may send.
    pub hidden: &'a [String],
}

impl DefinitionOverride<'_> {
    pub fn apply(&self, definition: &mut RawObject) {
        if let Some(description) = self.description {
            definition.put("description", description);
        }
        if self.fixed.is_empty() && self.hidden.is_empty() {
            return;
        }
        if let Some(mut schema) = definition.read::<Map<String, Value>>(SCHEMA) {
            self.remove_arguments(&mut schema);
            definition.put(SCHEMA, &schema);
        }
    }

    fn remove_arguments(&self, schema: &mut Map<String, Value>) {
        let is_gone = |name: &str| self.is_fixed(name) || self.is_hidden(name);
        if let Some(Value::Object(properties)) = schema.get_mut(PROPERTIES) {
            properties.retain(|name, _| !is_gone(name));
        }
        if let Some(Value::Array(required)) = schema.get_mut(REQUIRED) {
            required.retain(|name| !name.as_str().is_some_and(is_gone));
        }
    }

    fn is_fixed(&self, name: &str) -> bool {
        self.fixed.contains_key(name)
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.hidden.iter().any(|it| it == name)
    }

    /// Removes the fixed arguments from the client's. Returns false if there were none, and an
    /// error for a hidden argument.
    pub fn strip(&self, arguments: &mut RawObject) -> Result<bool, String> {
        let mut sent = self.hidden.iter().filter(|name| arguments.contains(name));
        if let Some(name) = sent.find(|name| !self.is_fixed(name)) {
            return Err(format!(
                "`{name}` is not an argument of this tool; leave it out"
            ));
        }
        let fixed = self.fixed.keys();
        let taken = fixed.filter(|name| arguments.remove(name).is_some());
        Ok(taken.count() > 0)
    }

    /// Adds the fixed arguments.
    pub fn complete(&self, arguments: &mut RawObject) {
        for (name, value) in self.fixed {
            arguments.put(name, value);
        }
    }

    /// Returns the problems with the tool as its server defines it.
    pub fn problems(&self, definition: &RawObject, checker: &Checker) -> Vec<String> {
        let schema: Map<String, Value> = definition.read(SCHEMA).unwrap_or_default();
        let fixed = self.fixed.iter();
        let fixed = fixed.filter_map(|(name, value)| misfit(&schema, name, value, checker));
        let hidden = self.hidden.iter();
        let hidden = hidden.filter_map(|name| self.cannot_hide(&schema, name));
        fixed.chain(hidden).collect()
    }

    fn cannot_hide(&self, schema: &Map<String, Value>, name: &str) -> Option<String> {
        let required = schema.get(REQUIRED).and_then(Value::as_array);
        let is_required = required.is_some_and(|names| names.iter().any(|it| it == name));
        match property(schema, name) {
            None => Some(unknown_argument(name)),
            Some(_) if is_required && !self.is_fixed(name) => Some(format!(
                "the argument `{name}` is required, so it cannot be hidden without a fixed value"
            )),
            Some(_) => None,
        }
    }
}

const SCHEMA: &str = "inputSchema";
const PROPERTIES: &str = "properties";
const REQUIRED: &str = "required";

/// Reports why a fixed value is invalid. Only this argument is checked: the others come with calls.
fn misfit(
    schema: &Map<String, Value>,
    name: &str,
    value: &Value,
    checker: &Checker,
) -> Option<String> {
    let Some(property) = property(schema, name) else {
        return Some(unknown_argument(name));
    };
    let mut alone = schema.clone();
    alone.insert(PROPERTIES.to_owned(), json!({ name: property }));
    for other in [REQUIRED, "allOf", "anyOf", "oneOf", "if", "minProperties"] {
        alone.remove(other);
    }
    let definition = raw(&json!({ SCHEMA: alone }));
    let checked = checker.check_arguments(&definition, &raw(&json!({ name: value })));
    let reason = checked.err()?.to_string();
    let reason = reason.lines().next().unwrap_or_default().trim();
    Some(format!("the fixed argument `{name}` is invalid: {reason}"))
}

fn property<'s>(schema: &'s Map<String, Value>, name: &str) -> Option<&'s Value> {
    schema.get(PROPERTIES)?.get(name)
}

fn unknown_argument(name: &str) -> String {
    format!("the tool declares no argument `{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> RawObject {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" }, "depth": { "$ref": "#/$defs/depth" }, "debug": { "type": "boolean" },
            },
            "required": ["path", "depth"],
            "$defs": { "depth": { "type": "integer", "maximum": 9 } },
        });
        RawObject::new().with("name", "t").with(SCHEMA, &schema)
    }

    #[track_caller]
    fn check(fixed: &Value, hidden: &[&str], expected: &[&str]) {
        let hidden: Vec<String> = hidden.iter().map(ToString::to_string).collect();
        let wanted = DefinitionOverride {
            description: None,
            fixed: fixed.as_object().unwrap(),
            hidden: &hidden,
        };
        assert_eq!(
            wanted.problems(&definition(), &Checker::default()),
            expected
        );
    }

    #[test]
    fn mismatches_with_the_tool_are_reported() {
        check(
            &json!({ "path": "/srv", "depth": 2 }),
            &["debug", "path"],
            &[],
        );
        check(
            &json!({ "depth": 2 }),
            &["path"],
            &["the argument `path` is required, so it cannot be hidden without a fixed value"],
        );
        check(
            &json!({ "dept": 2 }),
            &["nothing"],
            &[
                "the tool declares no argument `dept`",
                "the tool declares no argument `nothing`",
            ],
        );
        let expected = "the fixed argument `depth` is invalid";
        let wanted = json!({ "depth": 10 });
        let wanted = DefinitionOverride {
            description: None,
            fixed: wanted.as_object().unwrap(),
            hidden: &[],
        };
        let problems = wanted.problems(&definition(), &Checker::default());
        assert!(
            problems[0].starts_with(expected) && problems.len() == 1,
            "{problems:?}"
        );
    }

    #[test]
    fn fixed_and_hidden_arguments_leave_the_schema() {
        let fixed = json!({ "path": "/srv" });
        let wanted = DefinitionOverride {
            description: Some("Lists the files of the shop."),
            fixed: fixed.as_object().unwrap(),
            hidden: &["debug".to_owned()],
        };
        let mut shown = definition();
        wanted.apply(&mut shown);
        assert_eq!(
            shown.read::<String>("description").unwrap(),
            "Lists the files of the shop."
        );
        let schema: Value = shown.read(SCHEMA).unwrap();
        assert_eq!(
            schema["properties"],
            json!({ "depth": { "$ref": "#/$defs/depth" } })
        );
        assert_eq!(schema["required"], json!(["depth"]));
    }
}
