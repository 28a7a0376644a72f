//! Estimates the number of tokens of a text, without a vocabulary.
//!
//! The text is split as the o200k vocabulary splits it, and each piece gets the average cost of
//! its kind. `cargo run -p kitbag-budget --example refit` recomputes these averages from a file of
//! texts.

use crate::pieces::{Lead, Script, TextPiece, TextPieces, WordCase};

/// Returns approximately the same as [`count`](crate::count()), in one pass and without allocating.
pub fn estimate_tokens(text: &str) -> usize {
    let mut meter = TokenMeter::default();
    let mut at = 0;
    for (piece, end) in TextPieces::new(text) {
        meter.add(piece, &text.as_bytes()[at..end]);
        at = end;
    }
    meter.total_tokens()
}

/// Like [`estimate_tokens`], but only evenly spread samples of a long text are read.
pub(crate) fn estimate_by_sampling(text: &str) -> usize {
    if text.len() <= SAMPLES * SAMPLE_BYTES {
        return estimate_tokens(text);
    }
    let (mut bytes, mut tokens) = (0, 0);
    for number in 0..SAMPLES {
        let sample = take_sample(text, number);
        bytes += sample.len();
        tokens += estimate_tokens(sample);
    }
    // The same as `text.len() * tokens / bytes`, which could overflow.
    text.len() / bytes * tokens + text.len() % bytes * tokens / bytes
}

fn take_sample(text: &str, number: usize) -> &str {
    let start = text.floor_char_boundary(number * (text.len() / SAMPLES));
    &text[start..text.floor_char_boundary(start + SAMPLE_BYTES)]
}

// A quarter of a megabyte in total: read in a few milliseconds, however long the text.
const SAMPLES: usize = 32;
const SAMPLE_BYTES: usize = 8_192;

/// Returns how many bytes of a text these tokens pay for, and how many of the tokens are used. A
/// piece is paid for as a whole, unless it is long.
pub(crate) fn affordable_bytes(text: &str, tokens: usize) -> (usize, usize) {
    let mut meter = TokenMeter::default();
    let mut at = 0;
    for (piece, end) in TextPieces::new(text) {
        let before = meter.total_tokens();
        meter.add(piece, &text.as_bytes()[at..end]);
        if meter.total_tokens() > tokens {
            let cost = piece_cost(piece, &text.as_bytes()[at..end]);
            if cost <= LONG {
                return (at, tokens);
            }
            let share = (end - at) * (tokens - before) * 100 / cost.max(1);
            let end = text.floor_char_boundary(at + share.min(end - at));
            return (end, tokens);
        }
        at = end;
    }
    (at, meter.total_tokens())
}

/// Adds up costs, in hundredths of a token.
#[derive(Debug, Default)]
struct TokenMeter {
    sum: usize,
    /// The additional cost of the long words if they are not English.
    surplus: usize,
    words: usize,
    /// The number of words that are frequent only in English.
    english: usize,
}

impl TokenMeter {
    fn add(&mut self, piece: TextPiece, text: &[u8]) {
        self.sum += piece_cost(piece, text);
        if let TextPiece::Word {
            lead: Lead::Space,
            case: WordCase::Lower | WordCase::Title,
            letters,
            ..
        } = piece
        {
            self.words += 1;
            self.surplus += FOREIGN_LETTER * letters.saturating_sub(FREE_LETTERS);
            self.english += usize::from(is_english(text));
        }
    }

    /// A text counts as English until enough words were read of which too few are English.
    fn total_tokens(&self) -> usize {
        let foreign = self
            .words
            .saturating_sub(self.english * ENGLISH_EVERY + UNDECIDED);
        let surplus = self.surplus * foreign / self.words.max(1);
        (self.sum + surplus).div_ceil(100)
    }
}

fn is_english(word: &[u8]) -> bool {
    matches!(
        word,
        b" the" | b" of" | b" and" | b" for" | b" with" | b" or" | b" is" | b" to"
    )
}

/// Returns the cost of a piece in hundredths of a token.
fn piece_cost(piece: TextPiece, text: &[u8]) -> usize {
    match piece {
        TextPiece::Word {
            lead,
            case,
            letters,
            accented,
        } => row_cost(word_row(lead, case), letters) + ACCENT * accented,
        TextPiece::Script { script, letters } => {
            let (first, next) = script_cost(script);
            first + next * (letters - 1)
        }
        TextPiece::Digits => 100,
        TextPiece::Blank { bytes } => 100 + bytes / LONGEST_RUN * 100,
        TextPiece::Marks { .. } if is_joint(text) => 100,
        TextPiece::Marks {
            ascii,
            changes,
            wide,
            pictures,
        } => {
            let repeated = ascii - changes;
            row_cost(&MARKS, changes + repeated.min(2))
                + repeated / LONGEST_RUN * 100
                + WIDE * wide
                + PICTURE * pictures
        }
    }
}

fn word_row(lead: Lead, case: WordCase) -> &'static [usize; 13] {
    match (lead, case) {
        (_, WordCase::Upper) => &CAPITALS,
        (Lead::Mark, _) => &AFTER_MARK,
        _ => &PLAIN,
    }
}

/// The most frequent marks between two words of compact JSON; each is one token, unlike other marks
/// of the same length.
fn is_joint(marks: &[u8]) -> bool {
    matches!(
        marks,
        b"\":\""
            | b"\",\""
            | b"\":{\""
            | b"\":[\""
            | b".\",\""
            | b"},\""
            | b"},{\""
            | b"\"},{\""
            | b"\"},"
            | b"://"
    )
}

/// Returns the cost for a length; beyond the row, each step costs as much as the last one.
fn row_cost(row: &[usize; 13], length: usize) -> usize {
    let last = row.len() - 1;
    row[length.min(last)] + (row[last] - row[last - 1]) * length.saturating_sub(last)
}

/// Returns the cost of the first letter, and of each further one.
fn script_cost(script: Script) -> (usize, usize) {
    match script {
        Script::Greek => (85, 30),
        Script::Cyrillic => (85, 20),
        Script::Semitic => (80, 32),
        Script::Indic => (80, 31),
        Script::Kana => (110, 65),
        Script::Han => (105, 78),
        Script::Hangul => (115, 57),
        Script::Other => (200, 100),
    }
}

// Fitted as the mean number of tokens of such pieces in the definitions of half of 192 real servers
// (2,643, and their signatures in one line), smoothed by hand where JSON results and prose in 34
// languages differ. On the other half: definitions 0 % in total and each off by 2 %, signatures -1
// % and 5 %; on other JSON results -3 % and 3 %, on other documents, full of links, -22 % (Uzbek)
// to +19 % (Hindi), English -10 %.
//
// Words by their number of letters, marks by their number.
const PLAIN: [usize; 13] = [
    0, 100, 100, 101, 101, 101, 102, 103, 105, 115, 108, 110, 120,
];
const AFTER_MARK: [usize; 13] = [
    0, 100, 105, 135, 120, 135, 130, 147, 160, 180, 175, 205, 220,
];
const CAPITALS: [usize; 13] = [
    0, 103, 103, 115, 130, 155, 155, 160, 190, 200, 230, 280, 300,
];
const MARKS: [usize; 13] = [
    0, 100, 101, 130, 195, 205, 290, 315, 385, 430, 500, 550, 600,
];
/// For each letter with an accent, in addition.
const ACCENT: usize = 50;
/// For a mark beyond ASCII.
const WIDE: usize = 105;
/// For a picture such as an emoji.
const PICTURE: usize = 210;
/// The vocabulary has runs of one character up to about this length.
const LONGEST_RUN: usize = 64;
/// From this cost on, a piece may be paid for in part.
const LONG: usize = 1_600;

// The vocabulary knows English best: a word that is one token there is several in other languages.
/// For each letter of a word that is not English, in addition.
const FOREIGN_LETTER: usize = 18;
/// Words up to this length are one token in most languages.
const FREE_LETTERS: usize = 4;
/// In English prose, at least one word in this many satisfies [`is_english`].
const ENGLISH_EVERY: usize = 14;
/// Fewer words than this say too little about the language.
const UNDECIDED: usize = 20;
