//! A placeholder in braces: `{name}`, `{name.inner}`, `{credential.FIELD}`.

use serde_json::Value;

use crate::fill::FillValues;

/// Names the value that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// An argument, or a member within it.
    Argument {
        name: String,
        inner: Vec<String>,
        style: ListStyle,
    },
    Credential {
        field: String,
    },
}

/// How a value with several parts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStyle {
    /// `{name}`: a list of a query or a form becomes several fields.
    Plain,
    /// `{name,}`: the value is one text, a list with commas between its items, an object as JSON.
    Commas,
    /// `{name...}`: slashes in a path stay slashes.
    Slashes,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    #[error("`{{{found}}}` is not a placeholder")]
    NotPlaceholder { found: String },
    #[error("unclosed brace")]
    NotClosed,
    #[error("unmatched closing brace")]
    NotOpened,
    #[error("`{{*}}` is only allowed in a body, as the value of a member")]
    MisplacedRest,
    #[error("`{{{found}}}` keeps slashes, which is only allowed in a path")]
    MisplacedSlashes { found: String },
}

impl Placeholder {
    /// Before the name of a field.
    const CREDENTIAL: &str = "credential";

    /// Parses the text between two braces.
    pub fn parse(inside: &str) -> Result<Self, PlaceholderError> {
        let (words, style) = split_style(inside);
        let mut words = words.split('.').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let inner: Vec<String> = words.collect();
        if !is_placeholder_name(&name) || !inner.iter().all(|word| is_placeholder_name(word)) {
            return Err(PlaceholderError::NotPlaceholder {
                found: inside.to_owned(),
            });
        }
        if name != Self::CREDENTIAL {
            return Ok(Self::Argument { name, inner, style });
        }
        match <[String; 1]>::try_from(inner) {
            Ok([field]) if style == ListStyle::Plain => Ok(Self::Credential { field }),
            _ => Err(PlaceholderError::NotPlaceholder {
                found: inside.to_owned(),
            }),
        }
    }

    /// Returns the name of the argument that it refers to.
    pub fn argument_name(&self) -> Option<&str> {
        match self {
            Self::Argument { name, .. } => Some(name),
            Self::Credential { .. } => None,
        }
    }

    pub fn credential_field(&self) -> Option<&str> {
        match self {
            Self::Credential { field } => Some(field),
            Self::Argument { .. } => None,
        }
    }

    pub fn style(&self) -> ListStyle {
        match self {
            Self::Argument { style, .. } => *style,
            Self::Credential { .. } => ListStyle::Plain,
        }
    }

    /// Returns the value with its own type; `None` if it is missing.
    pub fn value(&self, values: &FillValues<'_>) -> Option<Value> {
        match self {
            Self::Credential { field } => values.credential_field(field).map(Value::String),
            Self::Argument { name, inner, .. } => {
                let argument = values.argument(name)?;
                let found = inner.iter().try_fold(argument, find_member);
                found.cloned().map(|value| self.apply_style(value))
            }
        }
    }

    /// Returns the value as text; `None` if it is missing or null.
    pub fn text(&self, values: &FillValues<'_>) -> Option<String> {
        to_plain_text(&self.value(values)?)
    }

    fn apply_style(&self, value: Value) -> Value {
        match self.style() {
            ListStyle::Commas => to_plain_text(&value).into(),
            ListStyle::Plain | ListStyle::Slashes => value,
        }
    }
}

/// Returns a value as text: a list as its items with commas between them, an object as JSON.
pub(crate) fn to_plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(to_plain_text).collect();
            Some(texts.join(","))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Some(value.to_string()),
    }
}

fn find_member<'a>(value: &'a Value, name: &String) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    }
}

fn split_style(inside: &str) -> (&str, ListStyle) {
    if let Some(words) = inside.strip_suffix("...") {
        (words, ListStyle::Slashes)
    } else if let Some(words) = inside.strip_suffix(',') {
        (words, ListStyle::Commas)
    } else {
        (inside, ListStyle::Plain)
    }
}

/// True for a name that may be a placeholder. A property with another name cannot be referred to.
pub fn is_placeholder_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'))
}
