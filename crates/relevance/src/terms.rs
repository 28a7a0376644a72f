//! Words out of text, the same way for tools and for intents.
//!
//! Identifiers are taken apart (`createIssue_v2` is `create`, `issue`, `v2`), small words are
//! left out, and endings are cut lightly: enough that `issues` meets `issue`, not so much that
//! `organisation` meets `organ`.

/// Words beyond this many say nothing new about a text; they only cost time.
pub const MAX_TERMS: usize = 2_000;

const LONGEST_WORD: usize = 40;

const SMALL_WORDS: [&str; 62] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "let", "me", "my", "need", "of", "on", "or", "our", "please", "should", "so", "some", "that",
    "the", "their", "them", "then", "there", "this", "to", "up", "us", "want", "was", "we", "what",
    "when", "which", "will", "with", "would", "you", "your", "all",
];

/// The terms of a text, in order, with repeats.
pub fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in words(text).flat_map(|word| units(&word)) {
        if found.len() == MAX_TERMS {
            break;
        }
        if !SMALL_WORDS.contains(&word.as_str()) {
            found.push(stem(word));
        }
    }
    found
}

/// Lower-case words of a text, identifiers taken apart: `HTTPServer` is `http`, `server`.
pub fn words(text: &str) -> impl Iterator<Item = String> {
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

/// A word as it is compared: cut if endless, and sign by sign in a script without spaces.
fn units(word: &str) -> Vec<String> {
    if word.chars().any(is_ideograph) {
        return word.chars().map(String::from).collect();
    }
    vec![word.chars().take(LONGEST_WORD).collect()]
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
}

/// Cuts what marks number and tense, and a last `e`, so that `issues`, `issue`, `creating` and
/// `create` meet. What is left need not be a word, only the same for its family.
fn stem(mut word: String) -> String {
    if !word.is_ascii() || word.len() < 4 || word.ends_with(|c: char| c.is_ascii_digit()) {
        return word;
    }
    let plain = word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if word.len() > 4 && (word.ends_with("ies") || word.ends_with("ied")) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["sses", "xes", "ches", "shes", "zes"]
        .iter()
        .any(|end| word.ends_with(end))
    {
        word.truncate(word.len() - 2);
    } else if plain {
        word.truncate(word.len() - 1);
    }
    for ending in ["ing", "ed"] {
        if word.ends_with(ending) && word.len() - ending.len() >= 3 {
            word.truncate(word.len() - ending.len());
            undouble(&mut word);
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.truncate(word.len() - 1);
    }
    word
}

/// `running` without its ending is `runn`; the doubled letter came with the ending.
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
        assert_eq!(terms(text).join(" "), expect, "{text}");
    }

    #[test]
    fn identifiers_come_apart_and_small_words_go() {
        check("createIssue_v2", "creat issu v2");
        check("github__list-pull.requests", "github list pull request");
        check("Please open an issue in the repo", "open issu repo");
        check("getHTTPResponse", "get http respons");
        check("searching issues for users", "search issu user");
        check("", "");
        check("🎉🎉", "");
    }

    #[test]
    fn words_of_one_family_meet() {
        for family in [
            "issue issues",
            "create creates created creating",
            "query queries querying queried",
            "run running",
            "box boxes",
            "process processes",
        ] {
            let mut stems = terms(family);
            stems.dedup();
            assert_eq!(stems.len(), 1, "{family}: {stems:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_within_bounds(text in ".{0,400}") {
            prop_assert!(terms(&text).len() <= MAX_TERMS);
        }
    }
}
