//! Edits of a program's text that preserve every line number, and nearly every column.

use std::collections::BTreeMap;

use oxc_span::Span;

/// The edits, which may be noted in any order.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    blanks: Vec<Span>,
    /// Characters that replace others.
    puts: BTreeMap<u32, char>,
    /// Texts to insert before the character at an offset.
    inserts: BTreeMap<u32, String>,
}

impl Edits {
    /// Replaces a piece of text by spaces.
    pub(crate) fn blank(&mut self, start: u32, end: u32) {
        self.blanks.push(Span::new(start, end.max(start)));
    }

    /// Replaces the character at this offset.
    pub(crate) fn put(&mut self, offset: u32, character: char) {
        self.puts.insert(offset, character);
    }

    /// Inserts text before an offset, after everything inserted there earlier.
    pub(crate) fn insert(&mut self, offset: u32, text: &str) {
        self.inserts.entry(offset).or_default().push_str(text);
    }

    pub(crate) fn apply(mut self, source: &str) -> String {
        self.blanks.sort_by_key(|span| span.start);
        let mut result = String::with_capacity(source.len() + 32);
        let mut blanks = self.blanks.iter().peekable();
        let mut blank_until = 0;
        for (offset, character) in offsets(source) {
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

/// The replacement of a removed character: a space, but line breaks stay.
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

/// Each character with its offset, and `None` at the end of the text.
fn offsets(source: &str) -> impl Iterator<Item = (u32, Option<char>)> + '_ {
    let end = std::iter::once((source.len(), None));
    source
        .char_indices()
        .map(|(offset, character)| (offset, Some(character)))
        .chain(end)
        .filter_map(|(offset, character)| Some((u32::try_from(offset).ok()?, character)))
}
