//! The name of a server, as configured.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Letters, digits, `-` and single `_` inside, at most [`ServerName::MAX`] of them.
///
/// Double and outer underscores are rejected because `__` separates server and tool in the names
/// that clients see: otherwise `a_` + `b` and `a` + `_b` would look the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerNameError {
    #[error("a server name must not be empty")]
    Empty,
    #[error("the server name `{name}` is longer than {max} characters", max = ServerName::MAX)]
    TooLong { name: String },
    #[error("the server name `{name}` contains {found:?}; use letters, digits, `-` and `_`")]
    BadCharacter { name: String, found: char },
    #[error(
        "the server name `{name}` must not begin or end with `_` nor contain `__`: that separates server and tool"
    )]
    Underscores { name: String },
}

impl ServerName {
    /// Leaves room for the name of a tool in an [`ExposedName`](crate::ExposedName).
    pub const MAX: usize = 32;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the valid name nearest to a name from elsewhere, such as a client's file.
    pub fn from_any_text(text: &str) -> Self {
        let mut name = String::new();
        for c in text.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => name.push(c),
                '_' if !name.ends_with('_') => name.push('_'),
                '_' => {}
                _ if !name.ends_with('-') => name.push('-'),
                _ => {}
            }
        }
        let edge = ['_', '-'];
        let name = name.trim_matches(edge);
        let name = name[..name.len().min(Self::MAX)].trim_end_matches(edge);
        name.parse()
            .unwrap_or_else(|_| "server".parse().expect("a plain word is a name"))
    }
}

impl FromStr for ServerName {
    type Err = ServerNameError;

    fn from_str(name: &str) -> Result<Self, ServerNameError> {
        if name.is_empty() {
            return Err(ServerNameError::Empty);
        }
        if let Some(found) = name
            .chars()
            .find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))
        {
            return Err(ServerNameError::BadCharacter {
                name: name.to_owned(),
                found,
            });
        }
        if name.len() > Self::MAX {
            return Err(ServerNameError::TooLong {
                name: name.to_owned(),
            });
        }
        if name.starts_with('_') || name.ends_with('_') || name.contains("__") {
            return Err(ServerNameError::Underscores {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.into()))
    }
}

impl TryFrom<String> for ServerName {
    type Error = ServerNameError;

    fn try_from(name: String) -> Result<Self, ServerNameError> {
        name.parse()
    }
}

impl From<ServerName> for String {
    fn from(name: ServerName) -> Self {
        name.0.as_ref().to_owned()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_names_are_rejected() {
        for name in ["", "_a", "a_", "a__b", "a b", "a.b", "é", &"x".repeat(33)] {
            assert!(name.parse::<ServerName>().is_err(), "{name}");
        }
        for name in ["a", "GitHub", "my-server_2", &"x".repeat(32)] {
            assert!(name.parse::<ServerName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn any_text_becomes_a_valid_server_name() {
        for (text, expected) in [
            ("GitHub", "GitHub"),
            ("my server (2)", "my-server-2"),
            ("a__b", "a_b"),
            ("_x_", "x"),
            ("@scope/pkg", "scope-pkg"),
            ("日本", "server"),
            ("", "server"),
            (
                "abcdefghijklmnopqrstuvwxyz0123_-456789",
                "abcdefghijklmnopqrstuvwxyz0123",
            ),
        ] {
            assert_eq!(ServerName::from_any_text(text).as_str(), expected);
        }
    }
}
