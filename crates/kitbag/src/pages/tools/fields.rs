//! The parameters of a tool as fields of a form, and the arguments from a filled form.

use std::collections::HashMap;

use kitbag_schema::parameter_type;
use serde_json::{Map, Value};

/// More fields than a person fills; the arguments can also be given as JSON.
const MAX_FIELDS: usize = 60;
/// An enumeration with more values is a text field with its type next to it.
const MAX_CHOICES: usize = 200;
/// A reference may lead to another one, but not forever.
const MAX_REFERENCES: usize = 8;

/// Parameters whose text often has several lines.
const LONG_TEXTS: [&str; 12] = [
    "text", "content", "contents", "body", "message", "code", "html", "markdown", "prompt", "sql",
    "notes", "script",
];

/// One parameter of a tool.
#[derive(Debug)]
pub(super) struct Field {
    /// The name of the parameter.
    pub(super) name: String,
    /// The name of the field in the form.
    pub(super) id: String,
    pub(super) kind: FieldKind,
    /// The type in words, as in a signature.
    pub(super) type_text: String,
    pub(super) is_required: bool,
    pub(super) description: Option<String>,
    pub(super) default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    Text,
    LongText,
    Date,
    Number {
        is_integer: bool,
        minimum: Option<String>,
        maximum: Option<String>,
    },
    Boolean,
    Choice(Vec<Value>),
    /// An array of strings, one per line.
    Lines,
    /// Anything else.
    Json,
}

/// The texts of a filled form, by the name of the field.
pub(super) type FilledForm = HashMap<String, String>;

/// A field whose text is not a valid value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {problem}")]
pub(super) struct InvalidField {
    name: String,
    problem: String,
}

/// Returns the parameters of a tool, required ones first.
pub(super) fn read_fields(definition: &Value) -> Vec<Field> {
    let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut fields: Vec<Field> = properties
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(position, (name, property))| Field::new(schema, position, name, property))
        .collect();
    fields.sort_by_key(|field| !field.is_required);
    fields.truncate(MAX_FIELDS);
    fields
}

/// Returns the arguments that a filled form stands for. Empty fields are left out.
pub(super) fn to_arguments(
    fields: &[Field],
    filled: &FilledForm,
) -> Result<Map<String, Value>, InvalidField> {
    let mut arguments = Map::new();
    for field in fields {
        let text = filled
            .get(&field.id)
            .map(String::as_str)
            .unwrap_or_default();
        if let Some(value) = field.parse(text)? {
            arguments.insert(field.name.clone(), value);
        }
    }
    Ok(arguments)
}

impl Field {
    fn new(schema: &Value, position: usize, name: &str, property: &Value) -> Self {
        let resolved = resolve(schema, property);
        let required = schema.get("required").and_then(Value::as_array);
        let of = |member: &str| property.get(member).or_else(|| resolved.get(member));
        Self {
            kind: FieldKind::for_schema(name, resolved),
            type_text: parameter_type(schema, name),
            is_required: required.is_some_and(|names| names.iter().any(|it| it == name)),
            description: of("description").and_then(Value::as_str).map(str::to_owned),
            default: of("default").cloned(),
            id: field_id(name, position),
            name: name.to_owned(),
        }
    }

    /// Returns the value of a text; `None` if the parameter is not given.
    fn parse(&self, text: &str) -> Result<Option<Value>, InvalidField> {
        // Browsers send line breaks as CRLF.
        let text = text.replace("\r\n", "\n");
        if text.is_empty() {
            return Ok(None);
        }
        match &self.kind {
            FieldKind::Text | FieldKind::LongText | FieldKind::Date => Ok(Some(text.into())),
            FieldKind::Lines => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                Ok(Some(lines.map(Value::from).collect()))
            }
            FieldKind::Number { is_integer, .. } => {
                let number: Option<serde_json::Number> = serde_json::from_str(text.trim()).ok();
                let number = number.filter(|it| !is_integer || it.as_f64().is_some_and(is_whole));
                let kind = if *is_integer {
                    "whole number"
                } else {
                    "number"
                };
                let number = number.ok_or_else(|| self.invalid(format!("needs a {kind}")))?;
                Ok(Some(number.into()))
            }
            FieldKind::Boolean | FieldKind::Choice(_) | FieldKind::Json => {
                let value = serde_json::from_str(&text);
                let value = value.map_err(|error| self.invalid(format!("is not JSON: {error}")))?;
                Ok(Some(value))
            }
        }
    }

    fn invalid(&self, problem: String) -> InvalidField {
        InvalidField {
            name: self.name.clone(),
            problem,
        }
    }

    /// Returns the text that stands for a value in this field.
    pub(super) fn format(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (FieldKind::Text | FieldKind::LongText | FieldKind::Date, Value::String(text)) => {
                text.clone()
            }
            (FieldKind::Lines, Value::Array(lines)) => {
                let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                lines.join("\n")
            }
            (FieldKind::Json, value) => format!("{value:#}"),
            (_, value) => value.to_string(),
        }
    }
}

impl FieldKind {
    fn for_schema(name: &str, schema: &Value) -> Self {
        if let Some(choices) = schema.get("enum").and_then(Value::as_array)
            && choices.len() <= MAX_CHOICES
        {
            return Self::Choice(choices.clone());
        }
        let limit = |member: &str| {
            let limit = schema.get(member).filter(|it| it.is_number());
            limit.map(ToString::to_string)
        };
        match type_of(schema) {
            Some("string") if schema.get("format").is_some_and(|it| it == "date") => Self::Date,
            Some("string") if LONG_TEXTS.contains(&name.to_lowercase().as_str()) => Self::LongText,
            Some("string") => Self::Text,
            Some(kind @ ("number" | "integer")) => Self::Number {
                is_integer: kind == "integer",
                minimum: limit("minimum"),
                maximum: limit("maximum"),
            },
            Some("boolean") => Self::Boolean,
            Some("array") => match schema.get("items").and_then(type_of) {
                Some("string") => Self::Lines,
                _ => Self::Json,
            },
            _ => Self::Json,
        }
    }
}

/// Returns the only type of a schema, apart from null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds
                .iter()
                .filter_map(Value::as_str)
                .filter(|it| *it != "null");
            kinds.next().filter(|_| kinds.next().is_none())
        }
        _ => None,
    }
}

/// Follows references within the schema, and the only alternative to null.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut current = schema;
    for _ in 0..MAX_REFERENCES {
        let reference = current.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|it| root.pointer(it.strip_prefix('#')?));
        match target.or_else(|| only_alternative(current)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

fn only_alternative(schema: &Value) -> Option<&Value> {
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    let is_null = |it: &&Value| it.get("type").is_some_and(|kind| kind == "null");
    let mut others = alternatives.as_array()?.iter().filter(|it| !is_null(it));
    others.next().filter(|_| others.next().is_none())
}

/// Names come from servers. One that a browser or a person could misread is replaced by its
/// position.
fn field_id(name: &str, position: usize) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match !name.is_empty() && name.chars().all(is_plain) {
        true => format!("arg.{name}"),
        false => format!("arg#{position}"),
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields() -> Vec<Field> {
        read_fields(&json!({ "inputSchema": {
            "type": "object",
            "$defs": { "Size": { "type": "integer", "minimum": 1, "description": "In cm" } },
            "properties": {
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "body": { "type": "string" },
                "size": { "$ref": "#/$defs/Size" },
                "price": { "type": ["number", "null"] },
                "colour": { "enum": ["red", 7] },
                "gift": { "type": "boolean", "default": true },
                "tags": { "type": "array", "items": { "type": "string" } },
                "address": { "type": "object" },
                "loop": { "$ref": "#/properties/loop" },
                "a\u{202e}b": { "type": "string" },
            },
            "required": ["size", "body"],
        } }))
    }

    #[test]
    fn each_schema_has_its_field_and_required_ones_come_first() {
        let fields = fields();
        assert!(fields[0].is_required && fields[1].is_required && !fields[2].is_required);
        let check = |name: &str, expected: FieldKind| {
            let field = fields.iter().find(|it| it.name == name).unwrap();
            assert_eq!(field.kind, expected, "{name}");
        };
        check("note", FieldKind::Text);
        check("body", FieldKind::LongText);
        check(
            "size",
            FieldKind::Number {
                is_integer: true,
                minimum: Some("1".to_owned()),
                maximum: None,
            },
        );
        check(
            "price",
            FieldKind::Number {
                is_integer: false,
                minimum: None,
                maximum: None,
            },
        );
        check("colour", FieldKind::Choice(vec![json!("red"), json!(7)]));
        check("gift", FieldKind::Boolean);
        check("tags", FieldKind::Lines);
        check("address", FieldKind::Json);
        check("loop", FieldKind::Json);
    }

    #[test]
    fn a_filled_form_becomes_arguments_and_empty_fields_are_left_out() {
        let filled = [
            ("arg.size", "3"),
            ("arg.body", ""),
            ("arg.price", "1.50"),
            ("arg.colour", "7"),
            ("arg.gift", "false"),
            ("arg.tags", "a\r\n\r\nb c"),
            ("arg.address", "{\"city\": \"Oslo\"}"),
            ("arg#9", "x\r\ny"),
            ("arg.unknown", "1"),
        ];
        let filled = filled
            .map(|(id, text)| (id.to_owned(), text.to_owned()))
            .into();
        let expected = json!({
            "size": 3, "price": 1.5, "colour": 7, "gift": false, "tags": ["a", "b c"],
            "address": { "city": "Oslo" }, "a\u{202e}b": "x\ny",
        });
        assert_eq!(
            Value::Object(to_arguments(&fields(), &filled).unwrap()),
            expected
        );
    }

    #[test]
    fn an_invalid_value_is_reported_with_its_field() {
        let check = |id: &str, text: &str, expected: &str| {
            let filled = FilledForm::from([(id.to_owned(), text.to_owned())]);
            let error = to_arguments(&fields(), &filled).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("arg.size", "1.5", "`size` needs a whole number");
        check("arg.price", "much", "`price` needs a number");
        check("arg.address", "{", "`address` is not JSON");
    }
}
