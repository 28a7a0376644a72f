//! The permissions of a token in OAuth's form: an unordered set of words separated by spaces.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(BTreeSet<String>);

impl Scopes {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn covers(&self, other: &Self) -> bool {
        self.0.is_superset(&other.0)
    }

    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    pub fn contains(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }
}

impl<T: AsRef<str>> FromIterator<T> for Scopes {
    /// Each item may contain several scopes: `--scope "read write"`.
    fn from_iter<I: IntoIterator<Item = T>>(words: I) -> Self {
        let mut scopes = Self::default();
        for words in words {
            scopes
                .0
                .extend(words.as_ref().split_whitespace().map(str::to_owned));
        }
        scopes
    }
}

impl FromStr for Scopes {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok([text].into_iter().collect())
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        [text].into_iter().collect()
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.0.iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{scope}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_a_set_of_words() {
        let scopes = |text: &str| text.parse::<Scopes>().unwrap();
        let both = scopes("write  read").with(&scopes("read admin"));
        assert_eq!(both.to_string(), "admin read write");
        assert!(both.covers(&scopes("read write")) && !scopes("read").covers(&both));
        assert!(scopes(" ").is_empty() && scopes("").covers(&scopes("")));
        assert_eq!(
            serde_json::to_string(&both).unwrap(),
            "\"admin read write\""
        );
    }
}
