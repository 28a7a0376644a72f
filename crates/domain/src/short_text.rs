//! Text from a client or server in records: truncated, and without control characters.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The client's own name, or the name of the tool it requested. It is stored with every call, so
/// the client must not choose its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortText(Arc<str>);

impl ShortText {
    /// In characters. The names of real clients and tools are a fifth of this; the URIs of real
    /// resources mostly fit.
    pub const MAX: usize = 200;

    /// Truncates a text. A truncated text ends with `…`.
    pub fn truncate(text: &str) -> Self {
        // A text within the limit in bytes is within it in characters, too.
        if text.len() <= Self::MAX && !text.chars().any(char::is_control) {
            return Self(text.into());
        }
        let mut rest = text.chars();
        let mut kept: String = rest.by_ref().take(Self::MAX).collect();
        if rest.next().is_some() {
            kept.pop();
            kept.push('…');
        }
        Self(kept.replace(char::is_control, "\u{fffd}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for ShortText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let cut = ShortText::truncate(text);
        assert_eq!(cut.as_str(), expected);
        assert_eq!(
            ShortText::truncate(cut.as_str()),
            cut,
            "cutting twice changes nothing"
        );
    }

    #[test]
    fn a_longer_text_is_truncated_at_a_character() {
        check("", "");
        check("Claude Code", "Claude Code");
        check(&"é".repeat(200), &"é".repeat(200));
        check(&"é".repeat(201), &format!("{}…", "é".repeat(199)));
        check(&"x".repeat(3_000_000), &format!("{}…", "x".repeat(199)));
    }

    #[test]
    fn control_characters_are_replaced() {
        check("a\u{1b}[2Jb\nc\u{0}", "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }
}
