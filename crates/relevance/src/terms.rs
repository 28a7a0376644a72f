//! Splits text into terms, the same way for tools and queries.
//!
//! Identifiers are split (`createIssue_v2` is `create`, `issue`, `v2`), stop words are dropped, and
//! words are stemmed lightly: `issues` equals `issue`, but `organisation` does not equal `organ`.

/// More words say nothing new about a text and only cost time.
pub const MAX_TERMS: usize = 2_000;

/// In characters. Words of a language are hardly ever longer; encoded data is.
const LONGEST_WORD: usize = 40;

pub(crate) const SMALL_WORDS: [&str; 62] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "let", "me", "my", "need", "of", "on", "or", "our", "please", "should", "so", "some", "that",
    "the", "their", "them", "then", "there", "this", "to", "up", "us", "want", "was", "we", "what",
    "when", "which", "will", "with", "would", "you", "your", "all",
];

/// Returns the terms of a text in order, with repeats.
pub fn split_terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in split_words(text).flat_map(|word| split_units(&word)) {
        if found.len() == MAX_TERMS {
            break;
        }
        if !SMALL_WORDS.contains(&word.as_str()) {
            found.push(stem(word));
        }
    }
    found
}

/// Returns the words of a text in lower case, with identifiers split: `HTTPServer` is `http`,
/// `server`.
pub fn split_words(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text.chars().peekable();
    let mut before = None;
    std::iter::from_fn(move || {
        let mut word = String::new();
        while let Some(c) = rest.peek().copied() {
            if !c.is_alphanumeric() {
                rest.next();
                before = None;
                if word.is_empty() { continue } else { break }
            }
            let mut following = rest.clone();
            following.next();
            let begins_word = c.is_uppercase()
                && before.is_some_and(|before: char| {
                    !before.is_uppercase() || following.next().is_some_and(char::is_lowercase)
                });
            if begins_word && !word.is_empty() {
                before = None;
                break;
            }
            rest.next();
            before = Some(c);
            word.extend(c.to_lowercase());
        }
        (!word.is_empty()).then_some(word)
    })
}

/// Truncates long words, and splits words in scripts without spaces into characters.
fn split_units(word: &str) -> Vec<String> {
    if word.chars().any(is_ideograph) {
        return word.chars().map(String::from).collect();
    }
    vec![word.chars().take(LONGEST_WORD).collect()]
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
}

/// Removes endings of number and tense and a final `e`, so that `issues` equals `issue` and
/// `creating` equals `create`. The stem need not be a word.
fn stem(mut word: String) -> String {
    // Words of three letters are stems, and words ending in a digit are names.
    if !word.is_ascii() || word.len() < 4 || word.ends_with(|c: char| c.is_ascii_digit()) {
        return word;
    }
    strip_plural(&mut word);
    strip_tense(&mut word);
    if word.len() > 3 && word.ends_with('e') {
        word.truncate(word.len() - 1);
    }
    word
}

/// Removes the plural ending, which is also that of the third person.
fn strip_plural(word: &mut String) {
    if word.len() > 4 && ends_with_any(word, &["ies", "ied"]) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ends_with_any(word, &["sses", "xes", "ches", "shes", "zes"]) {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !ends_with_any(word, &["ss", "us", "is"]) {
        word.truncate(word.len() - 1);
    }
}

fn strip_tense(word: &mut String) {
    for ending in ["ing", "ed"] {
        // A stem has three letters or more: `bed` and `king` stay.
        if word.ends_with(ending) && word.len() - ending.len() >= 3 {
            word.truncate(word.len() - ending.len());
            undouble(word);
            break;
        }
    }
}

fn ends_with_any(word: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| word.ends_with(ending))
}

/// Removes a doubled last letter, as in `runn` from `running`.
fn undouble(word: &mut String) {
    let mut last = word.bytes().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && !b"lsz".contains(&a)
    {
        word.truncate(word.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(split_terms(text).join(" "), expect, "{text}");
    }

    #[test]
    fn identifiers_are_split_and_stop_words_are_dropped() {
        check("createIssue_v2", "creat issu v2");
        check("github__list-pull.requests", "github list pull request");
        check("Please open an issue in the repo", "open issu repo");
        check("getHTTPResponse", "get http respons");
        check("searching issues for users", "search issu user");
        check("", "");
        check("🎉🎉", "");
    }

    #[test]
    fn words_of_one_family_have_the_same_stem() {
        for family in [
            "issue issues",
            "create creates created creating",
            "query queries querying queried",
            "run running",
            "box boxes",
            "process processes",
        ] {
            let mut stems = split_terms(family);
            stems.dedup();
            assert_eq!(stems.len(), 1, "{family}: {stems:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split_within_bounds(text in ".{0,400}") {
            prop_assert!(split_terms(&text).len() <= MAX_TERMS);
        }
    }
}
