//! The names of tools, actions and credentials.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolNameError {
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} `{name}` is longer than {most} characters")]
    TooLong {
        what: &'static str,
        name: String,
        most: usize,
    },
    #[error("{what} `{name}` does not begin with a lower-case letter")]
    Beginning { what: &'static str, name: String },
    #[error("{what} `{name}` contains {found:?}; use lower-case letters, digits and {marks}")]
    BadCharacter {
        what: &'static str,
        name: String,
        found: char,
        marks: &'static str,
    },
}

/// The limit that every model accepts for a tool's name.
const MOST: usize = 64;

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $marks:literal, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub const MAX: usize = MOST;

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ToolNameError;

            fn from_str(text: &str) -> Result<Self, ToolNameError> {
                check_name(text, $what, $marks, &$allowed).map(|()| Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// The id of a tool: the stem of its file's name, and its row in the manifest.
    ToolId, "the id", "`-`", ['-']
);
name_type!(
    /// The name by which clients call a tool.
    WireName, "the name", "`_`", ['_']
);
name_type!(ActionName, "the name of the action", "`_`", ['_']);
name_type!(
    /// The name of a credential. Each tenant has its own.
    CredentialName, "the name of the credential", "`-` and `_`", ['-', '_']
);

fn check_name(
    text: &str,
    what: &'static str,
    marks: &'static str,
    allowed: &[char],
) -> Result<(), ToolNameError> {
    let name = text.to_owned();
    let Some(first) = text.chars().next() else {
        return Err(ToolNameError::Empty { what });
    };
    if let Some(found) = text
        .chars()
        .find(|c| !is_lower_alphanumeric(*c) && !allowed.contains(c))
    {
        return Err(ToolNameError::BadCharacter {
            what,
            name,
            found,
            marks,
        });
    }
    if !first.is_ascii_lowercase() {
        return Err(ToolNameError::Beginning { what, name });
    }
    if text.len() > MOST {
        return Err(ToolNameError::TooLong {
            what,
            name,
            most: MOST,
        });
    }
    Ok(())
}

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_file_or_a_model_could_not_have_is_rejected_with_the_reason() {
        for (text, reason) in [
            ("", "the id is empty"),
            (
                "google_ads",
                "the id `google_ads` contains '_'; use lower-case letters, digits and `-`",
            ),
            (
                "4you",
                "the id `4you` does not begin with a lower-case letter",
            ),
        ] {
            assert_eq!(text.parse::<ToolId>().unwrap_err().to_string(), reason);
        }
        assert!("x".repeat(65).parse::<WireName>().is_err());
        assert!("google_ads".parse::<WireName>().is_ok());
        assert!("google-ads".parse::<WireName>().is_err());
        assert!("aws-eu_1".parse::<CredentialName>().is_ok());
    }
}
