//! Splits text into the words that BERT's uncased models were trained on.
//!
//! Control characters and accents are dropped, letters become lower case; a word ends at white
//! space, and every punctuation mark and every Chinese character is a word by itself.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// A longer word becomes one unknown token, as in the reference implementation.
const MAX_WORD_CHARS: usize = 100;

pub(crate) enum BertWord<'a> {
    Whole(&'a str),
    TooLong,
}

/// Passes one word after another to `take`, until it returns false.
pub(crate) fn for_each_word(text: &str, mut take: impl FnMut(BertWord<'_>) -> bool) {
    let mut word = PartialWord::default();
    for char in plain(text) {
        let alone = is_punctuation(char) || is_chinese(char);
        if (alone || char.is_whitespace()) && !word.finish(&mut take) {
            return;
        }
        if !char.is_whitespace() {
            word.push(char);
        }
        if alone && !word.finish(&mut take) {
            return;
        }
    }
    word.finish(&mut take);
}

#[derive(Default)]
struct PartialWord {
    text: String,
    chars: usize,
}

impl PartialWord {
    fn push(&mut self, char: char) {
        self.chars += 1;
        if self.chars <= MAX_WORD_CHARS {
            self.text.push(char);
        }
    }

    /// Passes the word to `take`, if there is one. Returns true if `take` wants more words.
    fn finish(&mut self, take: &mut impl FnMut(BertWord<'_>) -> bool) -> bool {
        let more = match self.chars {
            0 => true,
            1..=MAX_WORD_CHARS => take(BertWord::Whole(&self.text)),
            _ => take(BertWord::TooLong),
        };
        self.text.clear();
        self.chars = 0;
        more
    }
}

/// Lower-case letters without accents or control characters.
fn plain(text: &str) -> impl Iterator<Item = char> {
    let kept = text.chars().filter(|char| !is_control(*char));
    kept.nfd()
        .filter(|char| !is_accent(*char))
        .flat_map(char::to_lowercase)
}

/// Unassigned characters stay: they may be letters or emoji of a newer Unicode version.
fn is_control(char: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    match char {
        '\t' | '\n' | '\r' | ' '..='~' => false,
        '\0' | '\u{fffd}' => true,
        _ => matches!(char.general_category(), Control | Format | PrivateUse),
    }
}

fn is_accent(char: char) -> bool {
    !char.is_ascii() && char.general_category() == GeneralCategory::NonspacingMark
}

fn is_punctuation(char: char) -> bool {
    if char.is_ascii() {
        char.is_ascii_punctuation()
    } else {
        char.general_category_group() == GeneralCategoryGroup::Punctuation
    }
}

fn is_chinese(char: char) -> bool {
    matches!(
        u32::from(char),
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2CEAF
            | 0x2F800..=0x2FA1F
    )
}
