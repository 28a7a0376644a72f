//! The parameters of a template: one strict JSON Schema, and the values to fill in.

use std::collections::BTreeMap;

use kitbag_domain::Remedy;
use serde_json::{Map, Value, json};

/// Each parameter with its schema, sorted by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateParameters {
    schemas: BTreeMap<String, TemplateParameter>,
}

#[derive(Debug, Clone, PartialEq)]
struct TemplateParameter {
    schema: Map<String, Value>,
    required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterMistake {
    #[error("has a name that programs cannot read")]
    Name,
    #[error("is not a table")]
    NoTable,
    #[error("has no known `type`")]
    Type,
    #[error("has an unknown key `{key}`")]
    Key { key: String },
    #[error("has a `{key}` of the wrong type")]
    Value { key: String },
    #[error("has a default that does not match its own schema")]
    Default,
}

/// A letter or `_`, then letters, digits and `_`: a name that may follow `params.` in a program.
pub fn is_parameter_name(text: &str) -> bool {
    /// In bytes; longer names are invalid.
    const MAX: usize = 64;
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let mut characters = text.chars();
    begins && text.len() <= MAX && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl TemplateParameters {
    /// More parameters than this make a form rather than a request.
    pub const MAX: usize = 32;

    /// Checks one parameter and adds it.
    pub(super) fn add(&mut self, name: &str, schema: &Value) -> Result<(), ParameterMistake> {
        if !is_parameter_name(name) {
            return Err(ParameterMistake::Name);
        }
        let parameter = TemplateParameter::read(schema)?;
        self.schemas.insert(name.to_owned(), parameter);
        Ok(())
    }

    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.schemas.contains_key(name)
    }

    /// Returns the schema of one parameter.
    pub fn schema_of(&self, name: &str) -> Option<Value> {
        let parameter = self.schemas.get(name)?;
        Some(Value::Object(parameter.schema.clone()))
    }

    /// Returns the schema of all of them together, as an object that allows nothing else.
    pub fn schema(&self) -> Value {
        let members = self.schemas.iter();
        let properties: Map<_, _> = members
            .map(|(name, it)| (name.clone(), Value::Object(it.schema.clone())))
            .collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": self.required_names().collect::<Vec<_>>(),
            "additionalProperties": false,
        })
    }

    pub fn required_names(&self) -> impl Iterator<Item = &str> {
        let required = self.schemas.iter().filter(|(_, it)| it.required);
        required.map(|(name, _)| name.as_str())
    }

    /// Adds the defaults of parameters that have no value yet.
    pub(crate) fn fill(&self, mut values: Map<String, Value>) -> Map<String, Value> {
        for (name, parameter) in &self.schemas {
            if let Some(default) = parameter.schema.get("default")
                && !values.contains_key(name)
            {
                values.insert(name.clone(), default.clone());
            }
        }
        values
    }

    /// Returns the parameters as their author writes them.
    pub(super) fn to_values(&self) -> BTreeMap<String, Value> {
        let written = self.schemas.iter();
        written
            .map(|(name, it)| (name.clone(), it.to_values()))
            .collect()
    }
}

/// The key with which an author marks a parameter without a default as optional.
const OPTIONAL: &str = "optional";

impl TemplateParameter {
    fn read(schema: &Value) -> Result<Self, ParameterMistake> {
        let mut schema = schema.as_object().ok_or(ParameterMistake::NoTable)?.clone();
        let optional = match schema.shift_remove(OPTIONAL) {
            None => false,
            Some(Value::Bool(optional)) => optional,
            Some(_) => return Err(wrong_key(OPTIONAL)),
        };
        check_type(&schema)?;
        for (key, value) in &schema {
            check_key(key, value)?;
        }
        if schema.get("default").is_some_and(|it| !fits(it, &schema)) {
            return Err(ParameterMistake::Default);
        }
        let required = !optional && !schema.contains_key("default");
        Ok(Self { schema, required })
    }

    fn to_values(&self) -> Value {
        let mut written = self.schema.clone();
        if !self.required && !written.contains_key("default") {
            written.insert(OPTIONAL.to_owned(), true.into());
        }
        Value::Object(written)
    }
}

const TYPES: [&str; 5] = ["string", "integer", "number", "boolean", "array"];

/// One type, or a list of them for a parameter with observed values of several types.
fn check_type(schema: &Map<String, Value>) -> Result<(), ParameterMistake> {
    let types = schema.get("type").map(types_of).unwrap_or_default();
    let known = types.iter().all(|it| TYPES.contains(it));
    (known && !types.is_empty())
        .then_some(())
        .ok_or(ParameterMistake::Type)
}

fn types_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn check_key(key: &str, value: &Value) -> Result<(), ParameterMistake> {
    let right = match key {
        "type" => true,
        "description" | "title" | "pattern" | "format" => value.is_string(),
        "enum" => value.as_array().is_some_and(|choices| !choices.is_empty()),
        "default" => true,
        "examples" => value.is_array(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            value.is_number()
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "uniqueItems" => value.is_boolean(),
        "items" => value.is_object(),
        _ => {
            return Err(ParameterMistake::Key {
                key: key.to_owned(),
            });
        }
    };
    if right { Ok(()) } else { Err(wrong_key(key)) }
}

fn wrong_key(key: &str) -> ParameterMistake {
    ParameterMistake::Value {
        key: key.to_owned(),
    }
}

/// Compares the type and the choices. The gateway checks values against the whole schema.
fn fits(value: &Value, schema: &Map<String, Value>) -> bool {
    let types = schema.get("type").map(types_of).unwrap_or_default();
    let choices = schema.get("enum").and_then(Value::as_array);
    types.iter().any(|it| is_of(value, it)) && choices.is_none_or(|it| it.contains(value))
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => false,
    }
}

impl Remedy for ParameterMistake {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Name => "write a letter, then letters, digits and `_`".to_owned(),
            Self::NoTable => "write a table, like { type = \"string\" }".to_owned(),
            Self::Type => format!("write type = one of {}", TYPES.join(", ")),
            // The template's own keys end up here if they follow this table.
            Self::Key { key } if ["code", "uses", "intents", "cache_seconds"].contains(&&**key) => {
                format!("move `{key}` above the first [parameters.…] table")
            }
            Self::Key { .. } => {
                "use the keys of JSON Schema, and `optional` for a parameter that may be omitted"
                    .to_owned()
            }
            Self::Value { key } => format!("check the JSON Schema keyword `{key}`"),
            Self::Default => "change the default, or the type or enum".to_owned(),
        })
    }
}
