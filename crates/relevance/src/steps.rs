//! Splits a query into its steps: "find the invoice and mail it to Ann" needs two tools, and each
//! is easier to find by its own part.
//!
//! `training/clauses.py` must split the same way.

use std::sync::Arc;

use crate::tool_text::is_action;

/// More steps would divide up the half of the results that is reserved for them too finely.
const MAX_STEPS: usize = 6;
/// Fewer words are a fragment, unless they begin with a verb.
const MIN_WORDS: usize = 3;

/// An embedded step of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryStep {
    pub text: String,
    pub vector: Arc<[f32]>,
}

/// Returns the steps as parts of the text; none if there is only one.
pub fn split_steps(text: &str) -> Vec<String> {
    let mut steps: Vec<String> = text.lines().flat_map(split_line).take(MAX_STEPS).collect();
    if steps.len() < 2 {
        steps.clear();
    }
    steps
}

fn split_line(line: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == words.len() {
            return None;
        }
        let end = (start + 1..words.len())
            .find(|at| begins_step(&words, *at))
            .unwrap_or(words.len());
        let step = trim_joining_words(&words[start..end]);
        start = end;
        Some(step)
    })
    .filter(|step| is_whole(step))
}

/// True for a step rather than a fragment: `commit it`, but not `Thanks a lot`.
fn is_whole(step: &str) -> bool {
    let mut words = step.split(' ');
    let first = words.next().unwrap_or_default();
    let more = words.count();
    more + 1 >= MIN_WORDS || more > 0 && is_verb(first)
}

/// True if a step begins at this word, which is not the first.
fn begins_step(words: &[&str], at: usize) -> bool {
    let (before, word, after) = (words[at - 1], words[at], words.get(at + 1));
    if before.ends_with(['.', '?', '!', ';']) || is_number(word) {
        return true;
    }
    match normalize_word(word).as_str() {
        "after" => after.is_some_and(|after| normalize_word(after) == "that"),
        // `list the users and email them` is two steps, `cats and dogs` one.
        "and" => after.is_some_and(|after| is_verb(after)),
        bare if CONNECTORS.contains(&bare) => true,
        _ => before.ends_with(',') && is_verb(word),
    }
}

/// Drops the words and punctuation that only connect steps.
fn trim_joining_words(mut words: &[&str]) -> String {
    while let [first, rest @ ..] = words
        && (OPENINGS.contains(&normalize_word(first).as_str()) || is_number(first))
    {
        words = rest;
    }
    if let [after, that, rest @ ..] = words
        && normalize_word(after) == "after"
        && normalize_word(that) == "that"
    {
        words = rest;
    }
    while let [rest @ .., last] = words
        && normalize_word(last) == "and"
    {
        words = rest;
    }
    words.join(" ").trim_matches(MARKS).to_owned()
}

fn normalize_word(word: &str) -> String {
    word.trim_matches(MARKS).to_lowercase()
}

/// `2.` or `2)` at the start of a list item.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['.', ')']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_verb(word: &str) -> bool {
    let word = word.to_lowercase();
    is_action(&word) || MORE_VERBS.split_whitespace().any(|verb| verb == word)
}

const MARKS: [char; 7] = [' ', ',', '.', ';', ':', '!', '?'];

const CONNECTORS: [&str; 4] = ["then", "afterwards", "finally", "also"];

const OPENINGS: [&str; 16] = [
    "then",
    "afterwards",
    "finally",
    "also",
    "next",
    "and",
    "please",
    "first",
    "firstly",
    "second",
    "secondly",
    "third",
    "lastly",
    "additionally",
    "furthermore",
    "moreover",
];

/// More verbs that begin requests in the training data and are rarely nouns.
const MORE_VERBS: &str = "
    activate adjust append apply approve archive arrange ask assess attach automate book bring buy choose
    clean click clone close commit compare compile complete compress compute conduct confirm connect copy detect
    determine draw dump duplicate email ensure estimate evaluate explain extract fill filter finalize fix
    gather give grab identify improve inform install kill launch leave locate lock log look manage mark
    measure merge message monitor notify obtain open optimize order organize paraphrase parse pause pay pick
    ping play plot populate post predict prepare print provide provision pull purchase push put rank
    recommend remind rephrase reply reschedule research reserve reset resize restart return review rewrite
    rotate save scan schedule scrape select sell simplify solve sort split store suggest summarise summarize
    swap switch tag take tell toggle track transcribe transfer transform translate turn upgrade use verify
    visualize watch wipe";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        assert_eq!(split_steps(text), expect, "{text}");
    }

    #[test]
    fn one_step_is_not_split() {
        check("open a ticket about the broken login", &[]);
        check("compare the prices of cats and dogs", &[]);
        check("when is my next meeting with Ann", &[]);
        check("add a contact with name, phone and address", &[]);
        check("", &[]);
        check("and", &[]);
        check("🎒🎒🎒 🎒 🎒", &[]);
    }

    #[test]
    fn several_steps_come_apart() {
        check(
            "list the new users and email them a greeting",
            &["list the new users", "email them a greeting"],
        );
        check(
            "Get the top five stories, then store them in a table and mail me the link.",
            &[
                "Get the top five stories",
                "store them in a table and mail me the link",
            ],
        );
        check(
            "Find the invoice of May, update its status, and finally, notify the whole team!",
            &[
                "Find the invoice of May",
                "update its status",
                "notify the whole team",
            ],
        );
        check(
            "Please check the weather. After that book a table; also remind me tomorrow",
            &["check the weather", "book a table", "remind me tomorrow"],
        );
        check(
            "1. read the log file 2) open a new issue\n3. and tell the team",
            &["read the log file", "open a new issue", "tell the team"],
        );
    }

    #[test]
    fn two_words_are_a_step_if_the_first_is_a_verb() {
        check("read a file then commit it", &["read a file", "commit it"]);
        check("Thanks all. Delete the old branch.", &[]);
    }

    #[test]
    fn fragments_are_skipped_and_six_steps_are_the_limit() {
        check(
            "Hi. Delete the old branch. Thanks! Then close the issue.",
            &["Delete the old branch", "close the issue"],
        );
        assert_eq!(split_steps(&"go to work. ".repeat(50)).len(), MAX_STEPS);
    }

    proptest! {
        #[test]
        fn any_text_splits_into_no_step_or_a_few(text in ".{0,300}") {
            let steps = split_steps(&text);
            prop_assert!(steps.len() != 1 && steps.len() <= MAX_STEPS);
        }
    }
}
