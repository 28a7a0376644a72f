//! A path with placeholders. A value becomes one segment and cannot leave it.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::fill::FillValues;
use crate::placeholder::{ListStyle, Placeholder, PlaceholderError};
use crate::text_pattern::{TextPiece, parse_pieces};

/// Begins with a slash, or is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    pieces: Vec<TextPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFillError {
    #[error("the path needs `{name}`")]
    Missing { name: String },
    /// URLs treat such a segment as a step within the path.
    #[error("`{name}` is empty, `.` or `..`, which cannot be a part of a path")]
    Step { name: String },
}

/// The characters that need no encoding in any part of a URL.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl PathPattern {
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(piece_placeholder)
    }

    /// Returns the path, percent-encoded.
    pub fn fill(&self, values: &FillValues<'_>) -> Result<String, PathFillError> {
        let mut path = String::new();
        for piece in &self.pieces {
            match piece {
                TextPiece::Plain(text) => path.push_str(text),
                TextPiece::Placeholder(word) => path.push_str(&encode_segment(word, values)?),
            }
        }
        Ok(path)
    }
}

impl FromStr for PathPattern {
    type Err = PlaceholderError;

    fn from_str(text: &str) -> Result<Self, PlaceholderError> {
        Ok(Self {
            pieces: parse_pieces(text)?,
        })
    }
}

/// Shows the path as in the API's documentation: `/tickets/{id}`.
impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                TextPiece::Plain(text) => f.write_str(text)?,
                TextPiece::Placeholder(word) => write!(f, "{{{}}}", placeholder_name(word))?,
            }
        }
        Ok(())
    }
}

fn placeholder_name(word: &Placeholder) -> &str {
    let name = word.argument_name().or(word.credential_field());
    name.unwrap_or_default()
}

fn piece_placeholder(piece: &TextPiece) -> Option<&Placeholder> {
    match piece {
        TextPiece::Placeholder(word) => Some(word),
        TextPiece::Plain(_) => None,
    }
}

fn encode_segment(word: &Placeholder, values: &FillValues<'_>) -> Result<String, PathFillError> {
    let name = placeholder_name(word);
    let text = word.text(values).ok_or_else(|| PathFillError::Missing {
        name: name.to_owned(),
    })?;
    let kept: Vec<&str> = match word.style() {
        ListStyle::Slashes => text.trim_matches('/').split('/').collect(),
        ListStyle::Plain | ListStyle::Commas => vec![&text],
    };
    if kept.iter().any(|part| is_dot_segment(part)) {
        return Err(PathFillError::Step {
            name: name.to_owned(),
        });
    }
    let encoded: Vec<String> = kept
        .into_iter()
        .map(|part| utf8_percent_encode(part, RESERVED).to_string())
        .collect();
    Ok(encoded.join("/"))
}

fn is_dot_segment(part: &str) -> bool {
    matches!(part, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Map, json};

    use super::*;

    fn filled(pattern: &str, value: &str) -> Result<String, PathFillError> {
        let arguments: Map<_, _> = [("a".to_owned(), json!(value))].into_iter().collect();
        let none = Map::new();
        let values = FillValues::new(&arguments, &none, BTreeSet::new(), &no_field);
        pattern.parse::<PathPattern>().unwrap().fill(&values)
    }

    fn no_field(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn a_value_stays_one_segment_unless_the_pattern_allows_slashes() {
        for (pattern, value, expected) in [
            (
                "/v1/{a}:run",
                "x/../y?z#é",
                "/v1/x%2F..%2Fy%3Fz%23%C3%A9:run",
            ),
            (
                "/m/{a}/invoke",
                "arn:aws:x/y",
                "/m/arn%3Aaws%3Ax%2Fy/invoke",
            ),
            ("/files/{a...}", "/src/a b.rs", "/files/src/a%20b.rs"),
        ] {
            assert_eq!(filled(pattern, value).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_value_that_would_move_within_the_path_is_rejected() {
        for (pattern, value) in [
            ("/x/{a}", ".."),
            ("/x/{a}", "."),
            ("/x/{a}/y", ""),
            ("/x/{a...}", "b/../../c"),
            ("/x/{a...}", "b//c"),
        ] {
            let name = "a".to_owned();
            assert_eq!(
                filled(pattern, value),
                Err(PathFillError::Step { name }),
                "{value}"
            );
        }
        let name = "b".to_owned();
        assert_eq!(filled("/{b}", ""), Err(PathFillError::Missing { name }));
    }
}
