//! The value of a secret, and its name in the configuration.

use std::fmt;
use std::str::FromStr;

/// Letters, digits, `-`, `_` and `.`, at most [`SecretName::MAX`] of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a valid secret name: use 1 to {max} letters, digits, `-`, `_` or `.`", max = SecretName::MAX)]
pub struct SecretNameError {
    pub name: String,
}

/// The value of a secret, which `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl SecretName {
    /// Long enough for the name of an environment variable, short enough for a line of a table.
    pub const MAX: usize = 64;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = SecretNameError;

    fn from_str(name: &str) -> Result<Self, SecretNameError> {
        if name.is_empty() || name.len() > Self::MAX || !name.chars().all(may_be_in_name) {
            return Err(SecretNameError {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.to_owned()))
    }
}

fn may_be_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for text in ["", "a b", "a}", "é", &"x".repeat(65)] {
            assert!(text.parse::<SecretName>().is_err(), "{text}");
        }
        assert!("GitHub_token-2.x".parse::<SecretName>().is_ok());
    }
}
