//! The name of an entry: a domain read backwards, a slash, and what its owner calls the server.

use std::fmt;
use std::str::FromStr;

use kitbag_domain::ServerName;
use serde::{Deserialize, Serialize};

/// `io.github.acme/weather`: safe to print, and to put into a command line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a name of the registry; one looks like io.github.acme/weather")]
pub struct EntryNameError {
    found: String,
}

impl EntryName {
    const MAX: usize = 200;

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What comes before the slash.
    pub fn owner(&self) -> &str {
        self.parts().0
    }

    /// What comes after the slash.
    pub fn short(&self) -> &str {
        self.parts().1
    }

    /// What to call the server here. Where its owner calls it nothing but a server, it gets the
    /// owner's name.
    pub fn local(&self) -> ServerName {
        let (owner, short) = self.parts();
        let says_nothing = ["mcp", "server", "mcp-server"].contains(&short.to_lowercase().as_str());
        let telling = if says_nothing {
            owner.rsplit('.').next().unwrap_or(owner)
        } else {
            short
        };
        ServerName::nearest(telling)
    }

    fn parts(&self) -> (&str, &str) {
        self.0
            .split_once('/')
            .expect("a name without a slash is refused")
    }
}

impl FromStr for EntryName {
    type Err = EntryNameError;

    fn from_str(text: &str) -> Result<Self, EntryNameError> {
        let part = |text: &str| {
            let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(letters)
        };
        match text.split_once('/') {
            Some((owner, short)) if part(owner) && part(short) && text.len() <= Self::MAX => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(EntryNameError {
                found: text.to_owned(),
            }),
        }
    }
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
    fn a_name_has_two_parts_and_nothing_that_a_shell_would_read() {
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
    fn the_name_here_is_the_short_one_unless_that_says_nothing() {
        for (name, expected) in [
            ("io.github.acme/weather", "weather"),
            ("com.acme/files.v2", "files-v2"),
            ("com.acme/mcp", "acme"),
            ("com.acme/MCP-Server", "acme"),
            ("com.acme/a__b_", "a_b"),
        ] {
            assert_eq!(
                name.parse::<EntryName>().unwrap().local().as_str(),
                expected
            );
        }
    }
}
