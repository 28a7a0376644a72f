//! A word in braces: `{name}`, `{name.inner}`, `{credential.FIELD}`.

use serde_json::Value;

use crate::fill::FillValues;

/// Names the value that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// An argument, or a member within it.
    Argument {
        name: String,
        inner: Vec<String>,
        manner: ListManner,
    },
    Credential {
        field: String,
    },
}

/// The way in which a value with several parts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListManner {
    /// `{name}`: a list of a query or a form becomes several fields.
    Plain,
    /// `{name,}`: the value is one text, a list with commas between its items, an object as JSON.
    Commas,
    /// `{name...}`: slashes in a path stay slashes.
    Slashes,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    #[error("`{{{found}}}` is no placeholder")]
    NoWord { found: String },
    #[error("a brace is not closed")]
    NotClosed,
    #[error("a closing brace has no opening one")]
    NotOpened,
    #[error("`{{*}}` is only for a body, as the value of a member")]
    RestElsewhere,
    #[error("`{{{found}}}` keeps slashes, which only a path can")]
    SlashesElsewhere { found: String },
}

impl Placeholder {
    /// Before the name of a field.
    const CREDENTIAL: &str = "credential";

    /// Reads the words between two braces.
    pub fn read(inside: &str) -> Result<Self, PlaceholderError> {
        let (words, manner) = manner_of(inside);
        let mut words = words.split('.').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let inner: Vec<String> = words.collect();
        if !is_word(&name) || !inner.iter().all(|word| is_word(word)) {
            return Err(PlaceholderError::NoWord {
                found: inside.to_owned(),
            });
        }
        if name != Self::CREDENTIAL {
            return Ok(Self::Argument {
                name,
                inner,
                manner,
            });
        }
        match <[String; 1]>::try_from(inner) {
            Ok([field]) if manner == ListManner::Plain => Ok(Self::Credential { field }),
            _ => Err(PlaceholderError::NoWord {
                found: inside.to_owned(),
            }),
        }
    }

    /// Returns the name of the argument it stands for or within.
    pub fn argument(&self) -> Option<&str> {
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

    pub fn manner(&self) -> ListManner {
        match self {
            Self::Argument { manner, .. } => *manner,
            Self::Credential { .. } => ListManner::Plain,
        }
    }

    /// Returns the value with its own type; nothing if it was not given.
    pub fn value(&self, values: &FillValues<'_>) -> Option<Value> {
        match self {
            Self::Credential { field } => values.credential(field).map(Value::String),
            Self::Argument { name, inner, .. } => {
                let argument = values.argument(name)?;
                let found = inner.iter().try_fold(argument, member);
                found.cloned().map(|value| self.listed(value))
            }
        }
    }

    /// Returns the value as text; nothing if it was not given, or is null.
    pub fn text(&self, values: &FillValues<'_>) -> Option<String> {
        plain_text(&self.value(values)?)
    }

    fn listed(&self, value: Value) -> Value {
        match self.manner() {
            ListManner::Commas => plain_text(&value).into(),
            ListManner::Plain | ListManner::Slashes => value,
        }
    }
}

/// Returns a value as text: a list as its items with commas between them, an object as JSON.
pub(crate) fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(plain_text).collect();
            Some(texts.join(","))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Some(value.to_string()),
    }
}

fn member<'a>(value: &'a Value, name: &String) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    }
}

fn manner_of(inside: &str) -> (&str, ListManner) {
    if let Some(words) = inside.strip_suffix("...") {
        (words, ListManner::Slashes)
    } else if let Some(words) = inside.strip_suffix(',') {
        (words, ListManner::Commas)
    } else {
        (inside, ListManner::Plain)
    }
}

/// True for a name that may stand between braces. A property with another name cannot be referred to.
pub fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'))
}
