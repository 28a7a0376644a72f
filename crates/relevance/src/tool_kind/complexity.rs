//! How hard a tool is to call, from its input schema.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolComplexity {
    /// A few plain values.
    #[default]
    Simple,
    /// More values, or nested objects.
    Medium,
    /// Many values, deep objects, or alternatives.
    Complex,
}

/// The maximum difficulty of a simple tool.
const SIMPLE: usize = 2;
/// The maximum difficulty of a medium tool.
const MEDIUM: usize = 6;
/// With more arguments than this, a model has trouble finding the right one.
const MANY: usize = 15;
const MAX_LEVELS: usize = 6;
/// Bounds the walk; references may be cyclic.
const MAX_PARTS: usize = 2_000;

impl ToolComplexity {
    /// Returns the complexity of a tool with this `inputSchema`.
    #[must_use]
    pub fn from_schema(schema: &Value) -> Self {
        match SchemaSurvey::from_schema(schema).points() {
            points if points <= SIMPLE => Self::Simple,
            points if points <= MEDIUM => Self::Medium,
            _ => Self::Complex,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Medium => "medium",
            Self::Complex => "complex",
        }
    }
}

/// The properties of a schema that make calls hard.
#[derive(Debug, Default)]
struct SchemaSurvey {
    arguments: usize,
    required: usize,
    /// The object nesting of required arguments: 0 if all are plain values.
    required_levels: usize,
    optional_levels: usize,
    /// Required arguments with alternative forms.
    choices: usize,
}

impl SchemaSurvey {
    fn from_schema(schema: &Value) -> Self {
        let reader = SchemaReader {
            root: schema,
            parts_left: Cell::new(MAX_PARTS),
        };
        let required: Vec<&str> = array_items(schema, "required")
            .filter_map(Value::as_str)
            .collect();
        let mut survey = Self::default();
        for (name, argument) in properties(schema) {
            let levels = reader.nesting_levels(argument, MAX_LEVELS);
            survey.arguments += 1;
            if required.contains(&name) {
                survey.required += 1;
                survey.required_levels = survey.required_levels.max(levels);
                survey.choices += usize::from(reader.has_alternatives(argument));
            } else {
                survey.optional_levels = survey.optional_levels.max(levels);
            }
        }
        survey
    }

    fn points(&self) -> usize {
        let many = usize::from(self.arguments > MANY);
        let nested = usize::from(self.optional_levels > 0);
        self.required + 3 * self.required_levels + 2 * self.choices + nested + many
    }
}

struct SchemaReader<'a> {
    root: &'a Value,
    parts_left: Cell<usize>,
}

impl<'a> SchemaReader<'a> {
    /// Returns the depth of object nesting in a value.
    fn nesting_levels(&self, schema: &'a Value, most: usize) -> usize {
        let left = self.parts_left.get().saturating_sub(1);
        self.parts_left.set(left);
        if most == 0 || left == 0 {
            return 0;
        }
        let schema = self.resolve_reference(schema);
        let own = usize::from(properties(schema).next().is_some());
        let members = properties(schema).map(|(_, member)| member);
        let inner = members.chain(schema.get("items"));
        let inner = inner.map(|it| self.nesting_levels(it, most - 1)).max();
        let forms = alternatives(schema)
            .map(|it| self.nesting_levels(it, most - 1))
            .max();
        (own + inner.unwrap_or(0)).max(forms.unwrap_or(0))
    }

    /// True if a value may be one of several objects, or an object or something else.
    fn has_alternatives(&self, schema: &'a Value) -> bool {
        let forms =
            alternatives(self.resolve_reference(schema)).map(|form| self.resolve_reference(form));
        let (objects, others): (Vec<_>, Vec<_>) = forms
            .filter(|form| form.get("type").is_none_or(|kind| kind != "null"))
            .partition(|form| properties(form).next().is_some());
        objects.len() > 1 || (!objects.is_empty() && !others.is_empty())
    }

    fn resolve_reference(&self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|it| it.strip_prefix('#'));
        let target = pointer.and_then(|it| self.root.pointer(it));
        target.unwrap_or(schema)
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = schema.get("properties").and_then(Value::as_object);
    let members = members.into_iter().flatten();
    members.map(|(name, schema)| (name.as_str(), schema))
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(|key| array_items(schema, key))
}

fn array_items<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = schema.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expect: ToolComplexity) {
        assert_eq!(ToolComplexity::from_schema(schema), expect, "{schema}");
    }

    #[test]
    fn a_few_plain_values_are_simple() {
        check(&Value::Null, ToolComplexity::Simple);
        check(&json!(["path", "query"]), ToolComplexity::Simple);
        let plain = json!({ "type": "string" });
        let nullable = json!({ "anyOf": [plain, { "type": "null" }] });
        check(
            &json!({ "properties": { "a": plain, "b": nullable, "c": plain }, "required": ["a", "b"] }),
            ToolComplexity::Simple,
        );
    }

    #[test]
    fn required_objects_and_choices_make_a_call_harder() {
        let object = json!({ "properties": { "x": {} } });
        let deep = json!({ "items": { "properties": { "y": object } } });
        let form = json!({ "oneOf": [object, { "type": "string" }] });
        check(
            &json!({ "properties": { "a": object, "b": {} }, "required": ["a"] }),
            ToolComplexity::Medium,
        );
        check(
            &json!({ "properties": { "a": deep }, "required": ["a"] }),
            ToolComplexity::Complex,
        );
        check(
            &json!({ "properties": { "a": form, "b": {} }, "required": ["a", "b"] }),
            ToolComplexity::Complex,
        );
        check(
            &json!({ "properties": { "a": deep } }),
            ToolComplexity::Simple,
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_has_an_end() {
        let node = json!({ "properties": { "left": { "$ref": "#/$defs/n" }, "right": { "$ref": "#/$defs/n" } } });
        check(
            &json!({ "$defs": { "n": node }, "properties": { "n": node }, "required": ["n"] }),
            ToolComplexity::Complex,
        );
    }
}
