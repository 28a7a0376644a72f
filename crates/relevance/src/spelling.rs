//! Corrects misspelt words of a query against the vocabulary of the tools.
//!
//! A word is misspelt if neither the tools nor the embedder know it. It is replaced with a word of
//! the tools at edit distance one: a letter added, dropped, replaced, or two swapped. Names,
//! quotations, paths and numbers are left unchanged.

use crate::index::Index;
use crate::terms::split_terms;

/// Too many shorter words are one edit apart.
const MIN_LETTERS: usize = 5;
const MAX_LETTERS: usize = 24;
/// A text with more unknown words is not English, or not language at all.
const MAX_CORRECTIONS: usize = 4;

/// Returns the corrected text; `None` if no word is misspelt. `is_word` recognizes the words of the
/// language.
pub fn correct_spelling(
    index: &Index,
    text: &str,
    is_word: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut found = 0;
    let mut quotation = None;
    let pieces = text.split_inclusive(char::is_whitespace).enumerate();
    let pieces: Vec<String> = pieces
        .map(|(number, piece)| {
            let is_quoted = track_quotation(&mut quotation, piece);
            let correction = Some(piece)
                .filter(|_| !is_quoted)
                .and_then(|piece| find_plain_word(piece, number == 0))
                .filter(|word| !is_known(index, word, &is_word))
                .and_then(|word| Some((word, find_correction(index, word, &is_word)?)));
            match correction {
                Some((word, right)) => {
                    found += 1;
                    piece
                        .to_lowercase()
                        .replacen(&word.to_lowercase(), &right, 1)
                }
                None => piece.to_owned(),
            }
        })
        .collect();
    (1..=MAX_CORRECTIONS)
        .contains(&found)
        .then(|| pieces.concat())
}

/// True for a piece inside quotation marks, which may open and close in different pieces.
fn track_quotation(open: &mut Option<char>, piece: &str) -> bool {
    let piece = piece.trim();
    let opens = piece
        .chars()
        .next()
        .filter(|it| ['"', '`', '\'', '“', '‘', '«'].contains(it));
    let was_open = open.is_some();
    if !was_open {
        *open = opens;
    }
    if open.is_some() && closes_quotation(piece, opens.is_some()) {
        *open = None;
    }
    was_open || opens.is_some()
}

fn closes_quotation(piece: &str, opens: bool) -> bool {
    let end = piece.trim_end_matches([',', '.', ';', ':', '?', '!']);
    let letters = if opens { 2 } else { 1 };
    end.chars().count() >= letters && end.ends_with(['"', '`', '\'', '”', '’', '»'])
}

/// Returns the word in a piece of text if it is an ordinary lower-case one.
fn find_plain_word(piece: &str, is_first: bool) -> Option<&str> {
    let word = piece
        .trim()
        .trim_matches([',', '.', ';', ':', '?', '!', '(', ')']);
    let begins_large = is_first && word.starts_with(|c: char| c.is_ascii_uppercase());
    let letters = if begins_large { &word[1..] } else { word };
    let is_plain = letters.bytes().all(|letter| letter.is_ascii_lowercase());
    (is_plain && (MIN_LETTERS..=MAX_LETTERS).contains(&word.len())).then_some(word)
}

fn is_known(index: &Index, word: &str, is_word: &impl Fn(&str) -> bool) -> bool {
    let word = word.to_ascii_lowercase();
    // The embedder knows most words in only one form.
    let forms = ["s", "es", "ed", "d", "ing", "er", "ly"];
    let mut stems = forms.iter().filter_map(|ending| word.strip_suffix(ending));
    is_word(&word)
        || term_frequency(index, &word) > 0
        || stems.any(|stem| stem.len() > 2 && is_word(stem))
        // Abbreviations: `repos`, `certs`.
        || index.lexical.is_term_prefix(word.trim_end_matches('s'))
}

/// Returns the number of tools that contain the word in any form.
fn term_frequency(index: &Index, word: &str) -> usize {
    let terms = split_terms(word);
    match terms.as_slice() {
        [term] => index.lexical.document_frequency(term),
        _ => 0,
    }
}

/// Returns the most likely correction: words of the language first, then the most frequent.
fn find_correction(index: &Index, word: &str, is_word: &impl Fn(&str) -> bool) -> Option<String> {
    let word = word.to_ascii_lowercase();
    let near = one_letter_edits(&word).into_iter();
    let known = near
        .filter_map(|it| Some((term_frequency(index, &it), it)).filter(|(count, _)| *count > 0));
    let best = known.max_by(|(some, a), (more, b)| {
        let (a_is, b_is) = (is_word(a), is_word(b));
        a_is.cmp(&b_is).then(some.cmp(more)).then(b.cmp(a))
    });
    best.map(|(_, word)| word)
}

/// Returns all texts at edit distance one. The first letter is seldom wrong, but may be swapped
/// with the second.
fn one_letter_edits(word: &str) -> Vec<String> {
    let letters = word.as_bytes();
    let mut edits: Vec<Vec<u8>> = Vec::new();
    for at in 0..letters.len() {
        if at + 1 < letters.len() {
            let mut swapped = letters.to_vec();
            swapped.swap(at, at + 1);
            edits.push(swapped);
        }
        if at > 0 {
            let mut without = letters.to_vec();
            without.remove(at);
            edits.push(without);
        }
        for letter in b'a'..=b'z' {
            let mut with = letters.to_vec();
            with.insert(at + 1, letter);
            edits.push(with);
            if at > 0 {
                let mut other = letters.to_vec();
                other[at] = letter;
                edits.push(other);
            }
        }
    }
    let texts = edits
        .into_iter()
        .filter_map(|it| String::from_utf8(it).ok());
    texts.filter(|it| it != word).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Document, IndexedTool};

    fn index() -> Index {
        let tools = [
            ("read_file", "Reads a file from disk."),
            ("create_issue", "Opens an issue in a repository."),
            ("launch", "Launches a grafana dashboard."),
        ];
        let documents = tools.map(|(name, description)| Document {
            entry: Arc::new(IndexedTool {
                tool_name: format!("a__{name}"),
                description: description.to_owned(),
                ..IndexedTool::default()
            }),
            name: name.to_owned(),
            parameters: Vec::new(),
            twin: None,
            vector: None,
        });
        Index::build(documents.to_vec())
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let words = "read file open an issue in repository from disk lunch please cross close some";
        let is_word = |word: &str| words.split(' ').any(|it| it == word);
        assert_eq!(
            correct_spelling(&index(), text, is_word).as_deref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn a_slip_is_corrected_to_the_word_of_the_tools() {
        check(
            "in repositroy read a file",
            Some("in repository read a file"),
        );
        check("open an issuee, please", Some("open an issue, please"));
        check(
            "Creat an issuee in some repositoy",
            Some("Creat an issue in some repository"),
        );
        check("show grafanna", Some("show grafana"));
    }

    #[test]
    fn correct_words_names_and_quotations_stay() {
        for text in [
            "read a file",
            "raed a fiel",
            "list repos",
            "book a lunch",
            "ask Repositroy about it",
            "find 'repositroy filee' and \"isue\"",
            "read src/repositroy.rs",
            "files crossed closes",
            "zxqv wvut klmn",
            "",
        ] {
            check(text, None);
        }
    }
}
