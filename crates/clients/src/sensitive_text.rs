//! A text that may hold variables and secrets, which are kept apart from the rest.

use std::fmt;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

/// Only a variable in the file's own syntax is one. Literal text never becomes a variable because
/// it looks like a template.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SensitiveText {
    parts: Vec<TextPart>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TextPart {
    /// Plain text.
    Literal(String),
    /// Text in Kitbag's syntax: `${NAME}` in it is filled in at launch.
    Template(String),
    /// A secret that a user typed into the file. It belongs in the encrypted store.
    Secret(String),
    /// The file's name for a secret that only the client or the user has.
    Wanted(String),
}

/// A secret that needs a substitute in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenText<'a> {
    /// The secret itself, as typed into the file.
    Typed(&'a str),
    /// The file's name for a secret. It is not the name of one of Kitbag's secrets.
    Wanted(&'a str),
}

impl SensitiveText {
    /// Plain text.
    pub fn literal(text: impl Into<String>) -> Self {
        Self::from_parts([TextPart::Literal(text.into())])
    }

    pub(crate) fn from_parts(parts: impl IntoIterator<Item = TextPart>) -> Self {
        let mut text = Self::default();
        for part in parts {
            text.push(part);
        }
        text
    }

    fn push(&mut self, part: TextPart) {
        match (self.parts.last_mut(), part) {
            (_, part) if part.text().is_empty() => {}
            (Some(TextPart::Literal(before)), TextPart::Literal(text))
            | (Some(TextPart::Template(before)), TextPart::Template(text)) => {
                before.push_str(&text);
            }
            (_, part) => self.parts.push(part),
        }
    }

    /// True if a secret was typed into it.
    pub fn has_secret(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, TextPart::Secret(_)))
    }

    /// Returns the text as a template: `${NAME}` and `${NAME:-default}` in it are filled in at
    /// launch. Each secret is replaced by the return value of `substitute`.
    pub fn template(&self, mut substitute: impl FnMut(HiddenText<'_>) -> String) -> String {
        let parts = self.parts.iter();
        parts.map(|part| part.template(&mut substitute)).collect()
    }

    /// Returns the text as in the file, including its secrets, in template syntax. Not for display.
    pub fn reveal_secrets(&self) -> String {
        self.template(|hidden| match hidden {
            HiddenText::Typed(secret) => escape(secret),
            HiddenText::Wanted(name) => format!("${{secret:{name}}}"),
        })
    }

    /// Returns the text for display, without its secrets.
    pub fn mask_secrets(&self) -> String {
        self.parts.iter().map(TextPart::mask_secrets).collect()
    }
}

/// Escapes plain text so that no template reads it as a variable: `${:-$}` is a variable that is
/// never set and has `$` as its default. In an address `{` may also be written as `%7B`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '$' if begins_with_brace(&text[at + 1..]) => escaped.push_str("${:-$}"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn begins_with_brace(text: &str) -> bool {
    let encoded = text.get(..3);
    text.starts_with('{') || encoded.is_some_and(|start| start.eq_ignore_ascii_case("%7b"))
}

impl TextPart {
    fn template(&self, substitute: &mut impl FnMut(HiddenText<'_>) -> String) -> String {
        match self {
            Self::Literal(text) => escape(text),
            Self::Template(text) => text.clone(),
            Self::Secret(secret) => substitute(HiddenText::Typed(secret)),
            Self::Wanted(name) => substitute(HiddenText::Wanted(name)),
        }
    }

    fn mask_secrets(&self) -> String {
        match self {
            Self::Literal(text) | Self::Template(text) => text.clone(),
            Self::Secret(_) => "…".to_owned(),
            Self::Wanted(name) => format!("${{secret:{name}}}"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Literal(text)
            | Self::Template(text)
            | Self::Secret(text)
            | Self::Wanted(text) => text,
        }
    }
}

impl fmt::Debug for SensitiveText {
    /// Masks the secrets. The gateway stores hashes of this text, so it must stay stable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:?})", self.mask_secrets())
    }
}

impl fmt::Debug for TextPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => write!(f, "Literal({text:?})"),
            Self::Template(text) => write!(f, "Template({text:?})"),
            Self::Secret(_) => f.write_str("Secret(…)"),
            Self::Wanted(name) => write!(f, "Wanted({name:?})"),
        }
    }
}

impl Serialize for SensitiveText {
    /// Masks the secrets.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.has_secret() {
            return serializer.serialize_str(&self.mask_secrets());
        }
        let mut value = serializer.serialize_struct("SensitiveText", 2)?;
        value.serialize_field("text", &self.mask_secrets())?;
        value.serialize_field("secret", &true)?;
        value.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_parts_that_are_joined_never_become_a_variable() {
        let joined = |parts: &[&str]| {
            SensitiveText::from_parts(parts.iter().map(|it| TextPart::Literal((*it).to_owned())))
        };
        assert_eq!(
            joined(&["$", "", "{secret:x}"]).reveal_secrets(),
            "${:-$}{secret:x}"
        );
        assert_eq!(
            joined(&["$1 $", "%7Bsecret:x%7D"]).reveal_secrets(),
            "$1 ${:-$}%7Bsecret:x%7D"
        );
        assert_eq!(joined(&["$", "%7bx"]).mask_secrets(), "$%7bx");
        let typed = SensitiveText::from_parts([TextPart::Secret("${secret:x}".to_owned())]);
        assert_eq!(typed.reveal_secrets(), "${:-$}{secret:x}");
    }
}
