//! A text in which each variable is replaced by a placeholder.

use std::ops::RangeInclusive;

use crate::secret;
use crate::sensitive_text::TextPart;

/// Private-use characters, which no keyboard types. The first represents the first variable of a
/// text, and so on.
const PLACEHOLDERS: RangeInclusive<char> = '\u{f0000}'..='\u{ffffd}';

#[derive(Default)]
pub(super) struct MarkedText {
    text: String,
    variables: Vec<TextPart>,
}

impl MarkedText {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn push_variable(&mut self, variable: TextPart) {
        let placeholder = PLACEHOLDERS.clone().nth(self.variables.len());
        self.text.extend(placeholder);
        self.variables.push(variable);
    }

    /// Puts the variables back into a part of the text.
    pub(super) fn restore(&self, part: TextPart) -> Vec<TextPart> {
        match part {
            TextPart::Literal(text) => self.restore_literal(&text),
            TextPart::Secret(text) if text.contains(is_placeholder) => self.restore_secret(&text),
            whole => vec![whole],
        }
    }

    /// A secret that contains a variable is not a secret, except for keys next to the variable.
    fn restore_secret(&self, text: &str) -> Vec<TextPart> {
        let mut parts = Vec::new();
        for part in secret::keys_in(text) {
            match part {
                TextPart::Literal(text) => parts.extend(self.restore_literal(&text)),
                key => parts.push(key),
            }
        }
        parts
    }

    fn restore_literal(&self, text: &str) -> Vec<TextPart> {
        let mut parts = Vec::new();
        for piece in text.split_inclusive(is_placeholder) {
            let plain = piece.trim_end_matches(is_placeholder);
            parts.push(TextPart::Literal(plain.to_owned()));
            let placeholder = piece[plain.len()..].chars().next();
            parts.extend(placeholder.and_then(|placeholder| self.variable(placeholder)));
        }
        parts
    }

    fn variable(&self, placeholder: char) -> Option<TextPart> {
        let index = placeholder as usize - *PLACEHOLDERS.start() as usize;
        self.variables.get(index).cloned()
    }
}

fn is_placeholder(c: char) -> bool {
    PLACEHOLDERS.contains(&c)
}
