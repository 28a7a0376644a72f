//! The difficulty of calling a tool, from the schema of its arguments.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolComplexity {
    /// A few plain values.
    #[default]
    Simple,
    /// More values, or objects within the arguments.
    Medium,
    /// Many values, deep objects, or a choice between forms.
    Complex,
}

/// The points of difficulty up to which a tool is simple.
const SIMPLE: usize = 2;
/// The points of difficulty up to which a tool is not complex.
const MEDIUM: usize = 6;
/// Among more arguments than this, a model has to look for the right one.
const MANY: usize = 15;
/// Objects within objects that are looked at.
const MAX_LEVELS: usize = 6;
/// The parts of a schema that are looked at; references may make it endless.
const MAX_PARTS: usize = 2_000;

impl ToolComplexity {
    /// Returns the complexity of a tool with this `inputSchema`.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        match Survey::of(schema).points() {
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

/// The facts about a schema that make a call hard.
#[derive(Debug, Default)]
struct Survey {
    arguments: usize,
    required: usize,
    /// Objects within the required arguments: 0 if all are plain values.
    required_levels: usize,
    optional_levels: usize,
    /// Required arguments for which a model chooses between several forms.
    choices: usize,
}

impl Survey {
    fn of(schema: &Value) -> Self {
        let reader = SchemaReader {
            root: schema,
            parts_left: Cell::new(MAX_PARTS),
        };
        let required: Vec<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let mut survey = Self::default();
        for (name, argument) in properties(schema) {
            let levels = reader.levels(argument, MAX_LEVELS);
            survey.arguments += 1;
            if required.contains(&name) {
                survey.required += 1;
                survey.required_levels = survey.required_levels.max(levels);
                survey.choices += usize::from(reader.has_forms(argument));
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
    /// Returns how many objects stand within each other in a value.
    fn levels(&self, schema: &'a Value, most: usize) -> usize {
        let left = self.parts_left.get().saturating_sub(1);
        self.parts_left.set(left);
        if most == 0 || left == 0 {
            return 0;
        }
        let schema = self.referred(schema);
        let own = usize::from(properties(schema).next().is_some());
        let members = properties(schema).map(|(_, member)| member);
        let inner = members.chain(schema.get("items"));
        let inner = inner.map(|it| self.levels(it, most - 1)).max();
        let forms = forms(schema).map(|it| self.levels(it, most - 1)).max();
        (own + inner.unwrap_or(0)).max(forms.unwrap_or(0))
    }

    /// True if a value may be one of several objects, or an object or something else.
    fn has_forms(&self, schema: &'a Value) -> bool {
        let forms = forms(self.referred(schema)).map(|form| self.referred(form));
        let (objects, others): (Vec<_>, Vec<_>) = forms
            .filter(|form| form.get("type").is_none_or(|kind| kind != "null"))
            .partition(|form| properties(form).next().is_some());
        objects.len() > 1 || (!objects.is_empty() && !others.is_empty())
    }

    fn referred(&self, schema: &'a Value) -> &'a Value {
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

fn forms(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(|key| list(schema, key))
}

fn list<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = schema.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expect: ToolComplexity) {
        assert_eq!(ToolComplexity::of(schema), expect, "{schema}");
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
