//! A text that may hold variables and secrets, each kept apart from the rest.

use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// A file says which of its letters are variables. No letter of it becomes one by how we spell it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Value {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// These very letters.
    Literal(String),
    /// In our spelling already: `${NAME}` in it is filled in at launch.
    Template(String),
    /// Typed into the file as it is; belongs into an encrypted place.
    Secret(String),
    /// A secret that only the client or the person has, by the name that the file gives it.
    Wanted(String),
}

/// What stands for a secret in a template, or has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden<'a> {
    /// Typed into the file.
    Typed(&'a str),
    /// Only named there. The name is the file's, and no name of a secret of ours.
    Wanted(&'a str),
}

impl Value {
    /// These very letters.
    pub fn literal(text: impl Into<String>) -> Self {
        Self::of([Part::Literal(text.into())])
    }

    pub(crate) fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        let filled = |part: &Part| !part.text().is_empty();
        let mut joined: Vec<Part> = Vec::new();
        for part in parts.into_iter().filter(filled) {
            match (joined.last_mut(), part) {
                (Some(Part::Literal(before)), Part::Literal(text))
                | (Some(Part::Template(before)), Part::Template(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
        Self { parts: joined }
    }

    /// Whether a secret was typed into it.
    pub fn has_secret(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Secret(_)))
    }

    /// The whole as a template: `${NAME}` and `${NAME:-default}` in it are filled in at launch, and
    /// what `stand_in` gives is in the place of each secret.
    pub fn template(&self, mut stand_in: impl FnMut(Hidden<'_>) -> String) -> String {
        let text = |part: &Part| match part {
            Part::Literal(text) => spelt(text),
            Part::Template(text) => text.clone(),
            Part::Secret(secret) => stand_in(Hidden::Typed(secret)),
            Part::Wanted(name) => stand_in(Hidden::Wanted(name)),
        };
        self.parts.iter().map(text).collect()
    }

    /// As the file has it, secrets and all, in the spelling of a template. Not for showing.
    pub fn revealed(&self) -> String {
        self.template(|hidden| match hidden {
            Hidden::Typed(secret) => spelt(secret),
            Hidden::Wanted(name) => format!("${{secret:{name}}}"),
        })
    }

    /// For showing.
    pub fn masked(&self) -> String {
        let text = |part: &Part| match part {
            Part::Literal(text) | Part::Template(text) => text.clone(),
            Part::Secret(_) => "…".to_owned(),
            Part::Wanted(name) => format!("${{secret:{name}}}"),
        };
        self.parts.iter().map(text).collect()
    }
}

/// Letters spelt so that no template takes them for a variable: what is nowhere set has `$` as its
/// default. In an address braces may also be written as `%7B`.
fn spelt(letters: &str) -> String {
    let mut spelt = String::with_capacity(letters.len());
    for (at, c) in letters.char_indices() {
        let after = &letters[at + c.len_utf8()..];
        let begins = after.starts_with('{')
            || after
                .get(..3)
                .is_some_and(|it| it.eq_ignore_ascii_case("%7b"));
        match c {
            '$' if begins => spelt.push_str("${:-$}"),
            c => spelt.push(c),
        }
    }
    spelt
}

impl Part {
    fn text(&self) -> &str {
        match self {
            Self::Literal(text)
            | Self::Template(text)
            | Self::Secret(text)
            | Self::Wanted(text) => text,
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
            Self::Literal(text) => write!(f, "Literal({text:?})"),
            Self::Template(text) => write!(f, "Template({text:?})"),
            Self::Secret(_) => f.write_str("Secret(…)"),
            Self::Wanted(name) => write!(f, "Wanted({name:?})"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letters_of_a_file_become_a_variable_by_how_they_are_joined() {
        let joined =
            |parts: &[&str]| Value::of(parts.iter().map(|it| Part::Literal((*it).to_owned())));
        assert_eq!(
            joined(&["$", "", "{secret:x}"]).revealed(),
            "${:-$}{secret:x}"
        );
        assert_eq!(
            joined(&["$1 $", "%7Bsecret:x%7D"]).revealed(),
            "$1 ${:-$}%7Bsecret:x%7D"
        );
        assert_eq!(joined(&["$", "%7bx"]).masked(), "$%7bx");
        let typed = Value::of([Part::Secret("${secret:x}".to_owned())]);
        assert_eq!(typed.revealed(), "${:-$}{secret:x}");
    }
}
