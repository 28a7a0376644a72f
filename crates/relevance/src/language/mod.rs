//! Detects requests that are not in English. The built-in model was trained on English, so its
//! vectors of such requests mean little.
//!
//! A false alarm removes the confidence from an answer, so unclear requests count as English.
//! Quoted text, names and paths can be in any language and are ignored.

mod function_words;
mod script;

use std::collections::HashSet;

use self::function_words::{LANGUAGES, WordEvidence};
use self::script::Script;
use crate::terms::SMALL_WORDS;
use crate::tool_text::is_action;

/// Returns the English name of the request's language; `None` if it is English or unclear.
pub fn detect_foreign_language(text: &str) -> Option<&'static str> {
    let text = strip_quotations(text);
    let words: Vec<&str> = plain_words(&text).collect();
    language_by_script(&words).or_else(|| language_by_words(&words))
}

/// Removes quoted text. Apostrophes are kept because they occur inside words.
fn strip_quotations(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut until = None;
    for c in text.chars() {
        match (until, closing_quote(c)) {
            (Some(mark), _) if mark == c => until = None,
            (Some(_), _) => {}
            (None, Some(mark)) => {
                until = Some(mark);
                kept.push(' ');
            }
            (None, None) => kept.push(c),
        }
    }
    kept
}

fn closing_quote(c: char) -> Option<char> {
    match c {
        '"' | '`' => Some(c),
        '“' => Some('”'),
        '„' => Some('“'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
}

/// Splits a text into words, without URLs, paths and identifiers.
fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "()[]{},;!?¿¡…".contains(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit() || "_@/.:\\=#".contains(c)))
}

/// Half of the words in another script are enough, because product names stay in Latin script.
fn language_by_script(words: &[&str]) -> Option<&'static str> {
    let letters: String = words.concat();
    let weight: f32 = words.iter().map(|word| Script::estimate_words(word)).sum();
    let latin = words
        .iter()
        .filter(|word| Script::from_word(word).is_none());
    (weight > 0.0 && weight >= latin.count() as f32)
        .then(|| Script::likely_language(&letters))
        .flatten()
}

/// The words of the language must outnumber the clearly English ones.
fn language_by_words(words: &[&str]) -> Option<&'static str> {
    let words: HashSet<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let request = WordEvidence {
        english: words.iter().filter(|word| is_english(word)).count(),
        accented: words.iter().filter(|word| !word.is_ascii()).count(),
        words,
    };
    let rated = LANGUAGES
        .iter()
        .map(|it| (it.count_evidence(&request), it.name));
    // `max_by_key` returns the last of equals, and the table lists likelier languages first.
    let (evidence, name) = rated.rev().max_by_key(|(evidence, _)| *evidence)?;
    (evidence > request.english).then_some(name)
}

/// Short English words that also exist in other languages prove nothing.
fn is_english(word: &str) -> bool {
    const ELSEWHERE: [&str; 18] = [
        "a", "all", "an", "as", "be", "do", "has", "i", "in", "is", "it", "me", "no", "on", "so",
        "to", "us", "was",
    ];
    (SMALL_WORDS.contains(&word) || is_action(word)) && !ELSEWHERE.contains(&word)
}
