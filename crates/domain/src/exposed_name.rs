//! The name that a client sees for a tool or prompt of merged servers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ServerName;

/// `<server>__<name>`.
///
/// Models accept 64 characters of `[A-Za-z0-9_-]`, and clients add a prefix of their own
/// (`mcp__kitbag__`), so [`ExposedName::MAX`] is the remainder. A name that fits is kept unchanged;
/// one that is too long or has other characters is truncated and marked with a hash of the whole,
/// so that the result depends only on the two names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExposedName(Arc<str>);

impl ExposedName {
    pub const MAX: usize = 50;
    /// No server name contains it, so its first occurrence ends the server's name.
    const SEPARATOR: &str = "__";
    /// In hexadecimal digits. 32 bits distinguish the names of one server; a collision gets an
    /// [`alternative`](Self::alternative).
    const HASH_LENGTH: usize = 8;

    pub fn new(server: &ServerName, name: &str) -> Self {
        let plain = format!("{server}{}{name}", Self::SEPARATOR);
        if plain.len() <= Self::MAX && !name.is_empty() && name.chars().all(is_allowed_char) {
            return Self(plain.into());
        }
        Self::with_hash(server, name, 0)
    }

    /// Returns another name for the same tool, if the name from `new` is taken.
    pub fn alternative(server: &ServerName, name: &str, attempt: u32) -> Self {
        Self::with_hash(server, name, attempt)
    }

    fn with_hash(server: &ServerName, name: &str, attempt: u32) -> Self {
        let digest = blake3::hash(format!("{server}\0{name}\0{attempt}").as_bytes()).to_hex();
        let hash = &digest[..Self::HASH_LENGTH];
        let readable = name.replace(|c| !is_allowed_char(c), "_");
        let ending = "_".len() + Self::HASH_LENGTH;
        let room = Self::MAX - server.as_str().len() - Self::SEPARATOR.len() - ending;
        let kept = &readable[..readable.len().min(room)];
        Self(format!("{server}{}{kept}_{hash}", Self::SEPARATOR).into())
    }

    /// Splits a text as if it were an exposed name: into the server's name and the rest. Clients
    /// and configurations may contain any name, so neither part needs to exist.
    pub fn split(text: &str) -> Option<(&str, &str)> {
        text.split_once(Self::SEPARATOR)
    }

    /// Returns the server that a text would belong to if it were an exposed name.
    pub fn server_in(text: &str) -> Option<ServerName> {
        let (server, _) = Self::split(text)?;
        server.parse().ok()
    }

    /// Returns the server that the name belongs to. Only a deserialized name may have none.
    pub fn server(&self) -> Option<ServerName> {
        Self::server_in(&self.0)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExposedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

fn is_allowed_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exposed_name(server: &str, name: &str) -> ExposedName {
        ExposedName::new(&server.parse().unwrap(), name)
    }

    #[test]
    fn a_name_that_fits_is_only_prefixed() {
        assert_eq!(
            exposed_name("github", "create_issue").as_str(),
            "github__create_issue"
        );
        assert_eq!(
            exposed_name("github", "_hidden").as_str(),
            "github___hidden"
        );
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_gains_a_hash() {
        let name = exposed_name(
            "google-workspace",
            "set_spreadsheet_conditional_formatting_rule",
        );
        assert_eq!(name.as_str().len(), ExposedName::MAX);
        assert!(
            name.as_str()
                .starts_with("google-workspace__set_spreadsheet_condi"),
            "{name}"
        );
    }

    fn server() -> impl Strategy<Value = String> {
        "[a-zA-Z0-9-]{1,16}(_[a-zA-Z0-9-]{1,14})?"
    }

    proptest! {
        #[test]
        fn models_accept_every_name(server in server(), name in ".{0,200}") {
            let it = exposed_name(&server, &name);
            prop_assert!(it.as_str().len() <= ExposedName::MAX);
            prop_assert!(it.as_str().chars().all(is_allowed_char));
        }

        #[test]
        fn every_name_contains_its_server(server in server(), name in ".{0,200}") {
            let found = exposed_name(&server, &name).server();
            prop_assert_eq!(found.map(String::from), Some(server));
        }

        #[test]
        fn different_tools_get_different_names(
            a in (server(), "[a-zA-Z0-9_.-]{1,60}"),
            b in (server(), "[a-zA-Z0-9_.-]{1,60}"),
        ) {
            prop_assume!(a != b);
            prop_assert_ne!(exposed_name(&a.0, &a.1), exposed_name(&b.0, &b.1));
        }
    }
}
