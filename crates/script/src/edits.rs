//! Changes to the text of a program that leave every line, and nearly every column, where it was.

use std::collections::BTreeMap;

use oxc_span::Span;

/// The changes, which may be noted down in any order.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    blanks: Vec<Span>,
    /// Characters that take the place of others.
    puts: BTreeMap<u32, char>,
    /// Texts that come before the character at an offset.
    inserts: BTreeMap<u32, String>,
}

impl Edits {
    /// Puts spaces in place of a piece of text.
    pub(crate) fn blank(&mut self, start: u32, end: u32) {
        self.blanks.push(Span::new(start, end.max(start)));
    }

    /// Puts a character in place of the one at this offset.
    pub(crate) fn put(&mut self, offset: u32, character: char) {
        self.puts.insert(offset, character);
    }

    /// Inserts text before an offset, and behind all that was inserted there earlier.
    pub(crate) fn insert(&mut self, offset: u32, text: &str) {
        self.inserts.entry(offset).or_default().push_str(text);
    }

    pub(crate) fn apply(mut self, source: &str) -> String {
        self.blanks.sort_by_key(|span| span.start);
        let mut result = String::with_capacity(source.len() + 32);
        let mut blanks = self.blanks.iter().peekable();
        let mut blank_until = 0;
        for (offset, character) in places(source) {
            while let Some(span) = blanks.next_if(|span| span.start <= offset) {
                blank_until = blank_until.max(span.end);
            }
            if let Some(text) = self.inserts.get(&offset) {
                result.push_str(text);
            }
            let kept = character.map(|it| keep_or_blank(it, offset < blank_until));
            result.extend(self.puts.get(&offset).copied().or(kept));
        }
        result
    }
}

/// The character that stands for one that is taken out: a space, and for the end of a line itself.
pub(crate) fn blank(character: char) -> char {
    match character {
        '\n' | '\r' | '\u{2028}' | '\u{2029}' => character,
        _ => ' ',
    }
}

fn keep_or_blank(character: char, is_blank: bool) -> char {
    if is_blank {
        blank(character)
    } else {
        character
    }
}

/// Each character with its offset, and the end of the text, which has none.
fn places(source: &str) -> impl Iterator<Item = (u32, Option<char>)> + '_ {
    let end = std::iter::once((source.len(), None));
    source
        .char_indices()
        .map(|(offset, character)| (offset, Some(character)))
        .chain(end)
        .filter_map(|(offset, character)| Some((u32::try_from(offset).ok()?, character)))
}
