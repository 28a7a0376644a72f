//! The name of an entry: a reversed domain, a slash, and the name that its owner gave the server.

use std::fmt;
use std::str::FromStr;

use kitbag_domain::ServerName;
use serde::{Deserialize, Serialize};

/// `io.github.acme/weather`: safe to print, and to use in a command line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a registry name; expected a name like io.github.acme/weather")]
pub struct EntryNameError {
    found: String,
}

impl EntryName {
    /// The limit in the registry's schema.
    const MAX: usize = 200;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash.
    pub fn owner(&self) -> &str {
        self.parts().0
    }

    /// The part after the slash.
    pub fn short(&self) -> &str {
        self.parts().1
    }

    /// Returns the server's name in Kitbag's configuration. If the short name is just "server",
    /// uses the owner's name.
    pub fn server_name(&self) -> ServerName {
        let (owner, short) = self.parts();
        match short.to_lowercase().as_str() {
            "mcp" | "server" | "mcp-server" => {
                ServerName::from_any_text(owner.rsplit('.').next().unwrap_or(owner))
            }
            _ => ServerName::from_any_text(short),
        }
    }

    fn parts(&self) -> (&str, &str) {
        self.0
            .split_once('/')
            .expect("a name without a slash is rejected")
    }
}

impl FromStr for EntryName {
    type Err = EntryNameError;

    fn from_str(text: &str) -> Result<Self, EntryNameError> {
        match text.split_once('/') {
            Some((owner, short)) if is_part(owner) && is_part(short) && text.len() <= Self::MAX => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(EntryNameError {
                found: text.to_owned(),
            }),
        }
    }
}

fn is_part(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

impl TryFrom<String> for EntryName {
    type Error = EntryNameError;

    fn try_from(text: String) -> Result<Self, EntryNameError> {
        text.parse()
    }
}

impl From<EntryName> for String {
    fn from(name: EntryName) -> Self {
        name.0
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_two_parts_without_shell_characters() {
        for good in ["io.github.acme/weather", "a/b", "com.acme/Files_2.0"] {
            assert!(good.parse::<EntryName>().is_ok(), "{good}");
        }
        for bad in [
            "weather",
            "a/",
            "/b",
            "a/b/c",
            "a/b c",
            "a/$(x)",
            "-a/b",
            "a/--b",
            "a/ü",
            "a/b\u{1b}[31m",
        ] {
            assert!(bad.parse::<EntryName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_local_name_is_the_short_one_unless_it_is_generic() {
        for (name, expected) in [
            ("io.github.acme/weather", "weather"),
            ("com.acme/files.v2", "files-v2"),
            ("com.acme/mcp", "acme"),
            ("com.acme/MCP-Server", "acme"),
            ("com.acme/a__b_", "a_b"),
        ] {
            assert_eq!(
                name.parse::<EntryName>().unwrap().server_name().as_str(),
                expected
            );
        }
    }
}
