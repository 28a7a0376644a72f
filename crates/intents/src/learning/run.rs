//! One run of a program, as evidence for or against a template.

use std::collections::BTreeMap;

use kitbag_domain::Timestamp;
use serde_json::{Value, json};

use super::{LearnedUse, naming};
use crate::template::IntentTemplate;
use crate::template::text::TemplateText;

/// A program that ran, with its literals extracted. Their values are not stored, only types and
/// digests.
#[derive(Debug, Clone, Copy)]
pub struct ProgramRun<'a> {
    /// The request in words that led to the program, if any.
    pub words: Option<&'a str>,
    /// The program, which reads its literals from `params`.
    pub code: &'a str,
    pub literals: &'a [(String, Value)],
    pub uses: &'a [LearnedUse],
    /// True if all tools that it used are read-only.
    pub read_only: bool,
    pub succeeded: bool,
    pub at: Timestamp,
}

impl ProgramRun<'_> {
    /// Returns the template that this program would be, or nothing if it cannot be one.
    pub(super) fn template(&self, id: &str) -> Option<IntentTemplate> {
        let name = naming::template_name(self.uses, id);
        let tools: Vec<String> = self.uses.iter().map(LearnedUse::to_string).collect();
        let text = TemplateText {
            description: format!("Learned from programs that use {}.", tools.join(", ")),
            // Until callers request it in words, its name is the only intent.
            intents: vec![name.replace('_', " ")],
            name,
            uses: tools,
            read_only: self.read_only,
            cache_seconds: None,
            code: self.code.to_owned(),
            parameters: self.parameters(),
        };
        text.try_into().ok()
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        let literals = self.literals.iter();
        literals
            .map(|(name, value)| (name.clone(), json!({ "type": type_of(value) })))
            .collect()
    }
}

impl std::fmt::Display for LearnedUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.server, self.tool)
    }
}

/// Observed values are not choices: only their type is learned.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "array",
        Value::String(_) | Value::Null | Value::Object(_) => "string",
    }
}

/// Extends a schema to accept the type of this value, too.
pub(super) fn widen(schema: &mut Value, value: &Value) {
    let seen = Value::from(type_of(value));
    let known = &mut schema["type"];
    match known {
        Value::Array(several) if !several.contains(&seen) => several.push(seen),
        // Every integer is a number.
        Value::String(one) if one == "integer" && value.is_i64() => {}
        Value::String(_) if *known != seen => *known = json!([known.take(), seen]),
        _ => {}
    }
}
