//! Text with placeholders.

use std::str::FromStr;

use serde_json::Value;

use crate::fill::FillValues;
use crate::placeholder::{ListStyle, Placeholder, PlaceholderError};

/// A header, a parameter, an address or a text body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPattern {
    pieces: Vec<TextPiece>,
}

/// A stretch of plain text, or a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece {
    Plain(String),
    Placeholder(Placeholder),
}

impl TextPattern {
    pub fn pieces(&self) -> &[TextPiece] {
        &self.pieces
    }

    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(TextPiece::placeholder)
    }

    /// Returns the placeholder if it is the whole pattern.
    pub fn single_placeholder(&self) -> Option<&Placeholder> {
        match self.pieces.as_slice() {
            [TextPiece::Placeholder(word)] => Some(word),
            _ => None,
        }
    }

    /// Returns the text; `None` if a value for it is missing.
    pub fn fill(&self, values: &FillValues<'_>) -> Option<String> {
        let texts = self.pieces.iter().map(|piece| match piece {
            TextPiece::Plain(text) => Some(text.clone()),
            TextPiece::Placeholder(word) => word.text(values),
        });
        texts.collect()
    }

    /// Returns the value, which keeps its own type if the whole pattern is one placeholder.
    pub fn fill_value(&self, values: &FillValues<'_>) -> Option<Value> {
        match self.single_placeholder() {
            Some(word) => word.value(values),
            None => self.fill(values).map(Value::String),
        }
    }

    /// Returns the text with `*` for every placeholder, as addresses are shown and compared.
    pub fn with_stars(&self) -> String {
        let texts = self.pieces.iter().map(|piece| match piece {
            TextPiece::Plain(text) => text.as_str(),
            TextPiece::Placeholder(_) => "*",
        });
        texts.collect()
    }
}

impl TextPiece {
    fn placeholder(&self) -> Option<&Placeholder> {
        match self {
            Self::Placeholder(word) => Some(word),
            Self::Plain(_) => None,
        }
    }
}

impl FromStr for TextPattern {
    type Err = PlaceholderError;

    fn from_str(text: &str) -> Result<Self, PlaceholderError> {
        let pieces = parse_pieces(text)?;
        match pieces
            .iter()
            .filter_map(TextPiece::placeholder)
            .find(keeps_slashes)
        {
            Some(word) => Err(PlaceholderError::MisplacedSlashes {
                found: format!("{}...", word.argument_name().unwrap_or_default()),
            }),
            None => Ok(Self { pieces }),
        }
    }
}

fn keeps_slashes(word: &&Placeholder) -> bool {
    word.style() == ListStyle::Slashes
}

/// Splits a text into pieces. `{{` and `}}` are literal braces.
pub(crate) fn parse_pieces(text: &str) -> Result<Vec<TextPiece>, PlaceholderError> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(PlaceholderError::NotOpened);
        }
        let (inside, after) = after.split_once('}').ok_or(PlaceholderError::NotClosed)?;
        if inside == "*" {
            return Err(PlaceholderError::MisplacedRest);
        }
        push_plain(&mut pieces, &mut plain);
        pieces.push(TextPiece::Placeholder(Placeholder::parse(inside)?));
        rest = after;
    }
    plain.push_str(rest);
    push_plain(&mut pieces, &mut plain);
    Ok(pieces)
}

fn push_plain(pieces: &mut Vec<TextPiece>, plain: &mut String) {
    if !plain.is_empty() {
        pieces.push(TextPiece::Plain(std::mem::take(plain)));
    }
}
