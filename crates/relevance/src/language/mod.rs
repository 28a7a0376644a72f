//! Recognises a request that is not in English. The built-in model was trained on English, so its
//! vector of such a request says little.
//!
//! A wrong alarm takes the probabilities from an answer, so what is not clear counts as English. Text
//! between quotation marks, names and paths may be in any language and are left aside.

mod function_words;
mod script;

use std::collections::HashSet;

use self::function_words::{LANGUAGES, WordEvidence};
use self::script::Script;
use crate::terms::SMALL_WORDS;
use crate::text::is_action;

/// Returns the name of the language of a request, in English; nothing if it is English or unclear.
pub fn foreign(text: &str) -> Option<&'static str> {
    let text = without_quotations(text);
    let words: Vec<&str> = words(&text).collect();
    by_script(&words).or_else(|| by_words(&words))
}

/// Takes out what stands between quotation marks. An apostrophe is none, because it stands in words.
fn without_quotations(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut until = None;
    for c in text.chars() {
        match (until, closing(c)) {
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

fn closing(c: char) -> Option<char> {
    match c {
        '"' | '`' => Some(c),
        '“' => Some('”'),
        '„' => Some('“'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
}

/// Words in letters; addresses, paths and identifiers are none.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "()[]{},;!?¿¡…".contains(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit() || "_@/.:\\=#".contains(c)))
}

/// Half of the request in another script is enough: names of products are written in Latin letters
/// everywhere.
fn by_script(words: &[&str]) -> Option<&'static str> {
    let letters: String = words.concat();
    let weight: f32 = words.iter().map(|word| Script::weight_of(word)).sum();
    let latin = words.iter().filter(|word| Script::of(word).is_none());
    (weight > 0.0 && weight >= latin.count() as f32)
        .then(|| Script::language(&letters))
        .flatten()
}

/// The words of another language must outnumber those that are clearly English.
fn by_words(words: &[&str]) -> Option<&'static str> {
    let words: HashSet<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let request = WordEvidence {
        english: words.iter().filter(|word| is_english(word)).count(),
        accented: words.iter().filter(|word| !word.is_ascii()).count(),
        words,
    };
    let rated = LANGUAGES.iter().map(|it| (it.evidence(&request), it.name));
    // Of equals the last is taken, and the first of the table is the likelier one.
    let (evidence, name) = rated.rev().max_by_key(|(evidence, _)| *evidence)?;
    (evidence > request.english).then_some(name)
}

/// Some small words of English are words elsewhere, too, and prove nothing.
fn is_english(word: &str) -> bool {
    const ELSEWHERE: [&str; 18] = [
        "a", "all", "an", "as", "be", "do", "has", "i", "in", "is", "it", "me", "no", "on", "so",
        "to", "us", "was",
    ];
    (SMALL_WORDS.contains(&word) || is_action(word)) && !ELSEWHERE.contains(&word)
}
