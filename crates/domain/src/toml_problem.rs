//! The problems that any TOML file of Kitbag can have, and their common wording.

use crate::{Remedy, nearest_name};

/// A problem with the form of a TOML file. Messages quote keys and settings, never other values,
/// which may be secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TomlProblem {
    #[error("invalid TOML: {message}")]
    Syntax { message: String },
    #[error("unknown key `{key}`")]
    UnknownKey {
        key: String,
        nearest: Option<&'static str>,
        known: Vec<&'static str>,
    },
    #[error("expected {expected}, found {}", with_article(found))]
    WrongType {
        expected: String,
        found: &'static str,
    },
    #[error("`{found}` is not one of {}", quote_names(choices))]
    NotOneOf {
        found: String,
        choices: Vec<&'static str>,
        nearest: Option<&'static str>,
    },
    #[error("expected a number of at least {least}, found {found}")]
    TooSmall { found: String, least: i64 },
    #[error("`{found}` is not a valid duration")]
    Duration { found: String },
    #[error("`{name}` is not a valid HTTP header name")]
    HeaderName { name: String },
}

impl TomlProblem {
    pub fn unknown_key(key: &str, known: Vec<&'static str>) -> Self {
        Self::UnknownKey {
            key: key.to_owned(),
            nearest: nearest_name(key, known.iter().copied()),
            known,
        }
    }

    pub fn not_one_of(found: &str, choices: Vec<&'static str>) -> Self {
        Self::NotOneOf {
            found: found.to_owned(),
            nearest: nearest_name(found, choices.iter().copied()),
            choices,
        }
    }
}

impl Remedy for TomlProblem {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::UnknownKey {
                nearest: Some(nearest),
                ..
            }
            | Self::NotOneOf {
                nearest: Some(nearest),
                ..
            } => Some(did_you_mean(nearest)),
            Self::UnknownKey { known, .. } => Some(format!("known keys: {}", quote_names(known))),
            Self::Duration { .. } => Some("write it like \"90s\", \"10m\" or \"1h30m\"".to_owned()),
            Self::Syntax { .. }
            | Self::WrongType { .. }
            | Self::NotOneOf { .. }
            | Self::TooSmall { .. }
            | Self::HeaderName { .. } => None,
        }
    }
}

/// Returns the line of a byte offset, counted from one.
pub fn line_number(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

pub fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

/// Returns the names in backticks, separated by commas.
pub fn quote_names<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
