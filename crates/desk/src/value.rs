//! A text that may hold variables and secrets, each kept apart from the rest.

use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// What is no secret is a template: `${NAME}`, `${NAME:-default}` and `${secret:NAME}` in it are
/// filled in at launch.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Value {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Template(String),
    /// Typed into the file as it is; belongs into an encrypted place.
    Secret(String),
}

impl Value {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::of([Part::Template(text.into())])
    }

    pub(crate) fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        let filled = |part: &Part| !part.text().is_empty();
        let mut joined: Vec<Part> = Vec::new();
        for part in parts.into_iter().filter(filled) {
            match (joined.last_mut(), part) {
                (Some(Part::Template(before)), Part::Template(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
        Self { parts: joined }
    }

    /// Whether a secret was typed into it.
    pub fn has_secret(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Secret(_)))
    }

    /// The whole as a template, with what `stand_in` gives in the place of each secret.
    pub fn template(&self, mut stand_in: impl FnMut(&str) -> String) -> String {
        let text = |part: &Part| match part {
            Part::Template(text) => text.clone(),
            Part::Secret(secret) => stand_in(secret),
        };
        self.parts.iter().map(text).collect()
    }

    /// For showing.
    pub fn masked(&self) -> String {
        self.template(|_| "…".to_owned())
    }

    /// As it was, secrets and all. Not for showing.
    pub(crate) fn revealed(&self) -> String {
        self.template(str::to_owned)
    }
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Self::Template(text) | Self::Secret(text) => text,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:?})", self.masked())
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(text) => write!(f, "Template({text:?})"),
            Self::Secret(_) => f.write_str("Secret(…)"),
        }
    }
}

impl Serialize for Value {
    /// Secrets are masked.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.has_secret() {
            return serializer.serialize_str(&self.masked());
        }
        let mut value = serializer.serialize_struct("Value", 2)?;
        value.serialize_field("text", &self.masked())?;
        value.serialize_field("secret", &true)?;
        value.end()
    }
}
