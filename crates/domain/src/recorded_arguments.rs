//! The recorded arguments of a call: a hash, or text without secrets.

use std::fmt;
use std::sync::Arc;

/// Stored with every call, so the client must not choose its length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedArguments(Arc<str>);

impl RecordedArguments {
    /// In characters. Most arguments are shorter; of others the beginning is informative enough.
    pub const MAX: usize = 1_000;

    /// Truncates a text. A truncated text ends with `…`.
    pub fn truncate(text: &str) -> Self {
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

impl fmt::Display for RecordedArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
