//! Text that a client or a server chose and that records keep: cut, and without control characters.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The name that a client gave itself, or the name of the tool it asked for. It is stored with
/// every call, so the client must not choose its length.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortText(Arc<str>);

impl ShortText {
    /// In characters. The names of real clients and tools are a fifth of this; the URIs of real
    /// resources mostly fit.
    pub const MAX: usize = 200;

    /// Keeps the part that fits. A text that was cut ends with `…`.
    pub fn cut(text: &str) -> Self {
        // A text that is within the limit in bytes is within it in characters, too.
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
        let cut = ShortText::cut(text);
        assert_eq!(cut.as_str(), expected);
        assert_eq!(
            ShortText::cut(cut.as_str()),
            cut,
            "cutting twice changes nothing"
        );
    }

    #[test]
    fn a_text_that_fits_is_kept_and_a_longer_one_is_cut_at_a_character() {
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
