//! Turns text into token numbers, with BERT's uncased vocabulary.
//!
//! [`words`](super::words) finds the words; each is split repeatedly into the longest known piece
//! from the left. Splitting stops at the token limit, so a long text costs no more than the part
//! that fits. Special tokens are never parsed from text: `[SEP]` in a description is three letters
//! between brackets.

use std::collections::HashMap;

use super::words::{BertWord, for_each_word};

#[derive(Debug)]
pub(crate) struct WordPiece {
    starts: PieceTable,
    continuations: PieceTable,
    start: u32,
    end: u32,
    unknown: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum VocabularyError {
    #[error("the vocabulary of {pieces} pieces has no {missing}")]
    Lacks {
        pieces: usize,
        missing: &'static str,
    },
    #[error("the vocabulary has token {last}, but the model has {known} tokens")]
    Unknown { last: u32, known: usize },
}

impl WordPiece {
    /// Takes pieces with their numbers, for a model that has a row for `known` of them. `##` marks
    /// the pieces that continue a word.
    pub(crate) fn new(pieces: &[(&str, u32)], known: usize) -> Result<Self, VocabularyError> {
        let last = pieces.iter().map(|(_, number)| *number).max();
        if let Some(last) = last.filter(|last| *last as usize >= known) {
            return Err(VocabularyError::Unknown { last, known });
        }
        let (mut starts, mut continuations) = (PieceTable::default(), PieceTable::default());
        for (piece, number) in pieces {
            match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => continuations.insert(rest, *number),
                _ => starts.insert(piece, *number),
            }
        }
        Ok(Self {
            start: starts.special("[CLS]", pieces.len())?,
            end: starts.special("[SEP]", pieces.len())?,
            unknown: starts.special("[UNK]", pieces.len())?,
            starts,
            continuations,
        })
    }

    /// True if a word is one piece.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.starts.get(word).is_some()
    }

    /// Returns token numbers between the start and end tokens, at most `limit` including both.
    pub(crate) fn encode(&self, text: &str, limit: usize) -> Vec<u32> {
        // One position is reserved for the end, and the start takes one.
        let limit = limit.max(2) - 1;
        let mut tokens = vec![self.start];
        for_each_word(text, |word| {
            match word {
                BertWord::Whole(word) => self.split(word, &mut tokens),
                BertWord::TooLong => tokens.push(self.unknown),
            }
            tokens.len() < limit
        });
        tokens.truncate(limit);
        tokens.push(self.end);
        tokens
    }

    /// A word with any unknown part is unknown as a whole.
    fn split(&self, word: &str, tokens: &mut Vec<u32>) {
        let before = tokens.len();
        let mut rest = word;
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() {
                &self.starts
            } else {
                &self.continuations
            };
            let Some((length, number)) = pieces.longest(rest) else {
                tokens.truncate(before);
                return tokens.push(self.unknown);
            };
            tokens.push(number);
            rest = &rest[length..];
        }
    }
}

#[derive(Debug, Default)]
struct PieceTable {
    numbers: HashMap<Box<str>, u32>,
    longest: usize,
}

impl PieceTable {
    fn insert(&mut self, piece: &str, number: u32) {
        self.longest = self.longest.max(piece.len());
        self.numbers.insert(piece.into(), number);
    }

    fn get(&self, piece: &str) -> Option<u32> {
        self.numbers.get(piece).copied()
    }

    fn special(&self, name: &'static str, pieces: usize) -> Result<u32, VocabularyError> {
        let missing = VocabularyError::Lacks {
            pieces,
            missing: name,
        };
        self.get(name).ok_or(missing)
    }

    /// Finds the longest piece that a text begins with. No piece is longer than `longest` bytes,
    /// which limits a word of a hundred characters to a hundred times that many look-ups instead of
    /// five thousand.
    fn longest(&self, text: &str) -> Option<(usize, u32)> {
        let ends = (1..=text.len().min(self.longest))
            .rev()
            .filter(|end| text.is_char_boundary(*end));
        ends.filter_map(|end| Some((end, self.get(&text[..end])?)))
            .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECES: [&str; 12] = [
        "[UNK]", "[CLS]", "[SEP]", "create", "##d", "issue", "_", "a", "##b", "cafe", "[", "]",
    ];

    #[derive(serde::Deserialize)]
    struct Oracle {
        vocabulary: Vec<String>,
        cases: Vec<TokenizedText>,
    }

    #[derive(serde::Deserialize)]
    struct TokenizedText {
        text: String,
        tokens: Vec<u32>,
    }

    #[test]
    fn tokens_match_the_reference_library() {
        let oracle: Oracle =
            serde_json::from_str(include_str!("../tests/fixtures/wordpiece.json")).unwrap();
        let pieces: Vec<_> = oracle
            .vocabulary
            .iter()
            .map(String::as_str)
            .zip(0..)
            .collect();
        let pieces = WordPiece::new(&pieces, pieces.len()).unwrap();
        for TokenizedText { text, tokens } in oracle.cases {
            assert_eq!(pieces.encode(&text, usize::MAX), tokens, "{text:?}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let pieces: Vec<_> = PIECES.into_iter().zip(0..).collect();
        let pieces = WordPiece::new(&pieces, 12).unwrap();
        let tokens = pieces.encode(text, 8);
        let read: Vec<_> = tokens.iter().map(|token| PIECES[*token as usize]).collect();
        assert_eq!(
            read.join(" "),
            format!("[CLS] {expected} [SEP]").replace("  ", " ")
        );
    }

    #[test]
    fn words_are_split_into_their_longest_known_pieces() {
        check("Created issue", "create ##d issue");
        check("create_issue", "create _ issue");
        check("abbb abc", "a ##b ##b ##b [UNK]");
        check("CAFÉ cafe\u{301}", "cafe cafe");
        check("", "");
    }

    #[test]
    fn a_special_token_in_a_text_is_plain_text() {
        check("[SEP]", "[ [UNK] ]");
    }

    #[test]
    fn a_text_is_truncated_at_the_limit() {
        check(
            &"issue ".repeat(50_000),
            "issue issue issue issue issue issue",
        );
        check(&"ab".repeat(50_000), "[UNK]");
        check(&"🎒".repeat(25_000), "[UNK]");
    }

    #[test]
    fn a_vocabulary_that_does_not_match_the_model_is_rejected() {
        assert_eq!(
            vocabulary_error(&[("[UNK]", 0), ("[CLS]", 1)]),
            "the vocabulary of 2 pieces has no [SEP]"
        );
        assert_eq!(
            vocabulary_error(&[("far", 12)]),
            "the vocabulary has token 12, but the model has 12 tokens"
        );
    }

    fn vocabulary_error(pieces: &[(&str, u32)]) -> String {
        WordPiece::new(pieces, 12).unwrap_err().to_string()
    }
}
