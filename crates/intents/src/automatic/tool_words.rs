//! The words that mean a tool: its name with the verb in front, with and without its server.

use kitbag_domain::capability::split_name;

use super::OfferedTool;
use crate::pattern::IntentPattern;
use crate::template::is_parameter_name;
use crate::words::{FoldedRequest, singular};

/// Returns the intents of a tool, and for each whether its words name the server.
pub(super) fn patterns(
    offered: &OfferedTool<'_>,
    required: &[String],
) -> Vec<(IntentPattern, bool)> {
    let words = words_of(offered);
    let Some((verb, nouns)) = words.split_first() else {
        return Vec::new();
    };
    let ending = parameter_placeholder(verb, nouns, required);
    if nouns.is_empty() || ending.is_none() {
        return Vec::new();
    }
    let endings = [Some(String::new()), ending.filter(|it| !it.is_empty())];
    let (nouns, server) = (nouns.join(" "), offered.server.as_str());
    let bases = [
        (format!("{verb} {nouns}"), false),
        (format!("{server} {verb} {nouns}"), true),
        (format!("{verb} {server} {nouns}"), true),
    ];
    let behind = ["in", "on", "from"].map(|it| (format!("{verb} {nouns} {it} {server}"), true));
    let with_endings = bases.iter().flat_map(|(base, named)| {
        let endings = endings.iter().flatten();
        endings.map(move |ending| (format!("{base}{ending}"), *named))
    });
    with_endings
        .chain(behind)
        .filter_map(|(text, named)| Some((IntentPattern::parse(&text).ok()?, named)))
        .collect()
}

/// Returns the folded words that mean the tool if no other server has a similar one.
pub(super) fn shortest_words(offered: &OfferedTool<'_>) -> String {
    FoldedRequest::read(&words_of(offered).join(" ")).folded_text()
}

fn words_of(offered: &OfferedTool<'_>) -> Vec<String> {
    verb_first(own_words(offered))
}

const LISTING: [&str; 2] = ["list", "count"];
const SEARCHING: [&str; 4] = ["search", "find", "query", "lookup"];
const READING: [&str; 5] = ["get", "read", "show", "describe", "fetch"];

/// Returns the placeholder for the only required parameter; an empty text if the words take none;
/// `None` if the verb does not read.
fn parameter_placeholder(verb: &str, nouns: &[String], required: &[String]) -> Option<String> {
    let only = match required {
        [name] if is_parameter_name(name) => Some(name),
        _ => None,
    };
    let several = nouns.last().is_some_and(|noun| singular(noun) != *noun);
    match only {
        Some(name) if SEARCHING.contains(&verb) => Some(format!(" for {{{name}...}}")),
        Some(name) if READING.contains(&verb) && !several => Some(format!(" {{{name}}}")),
        _ => is_reading_verb(verb).then(String::new),
    }
}

fn is_reading_verb(verb: &str) -> bool {
    let verbs = [&LISTING[..], &SEARCHING, &READING];
    verbs.iter().any(|verbs| verbs.contains(&verb))
}

/// Returns the words in a tool's name. Drops its server's words at the start if a verb and a noun
/// remain.
fn own_words(offered: &OfferedTool<'_>) -> Vec<String> {
    let (server, mut words) = (
        split_name(offered.server.as_str()),
        split_name(offered.name),
    );
    if words.starts_with(&server) && words.len() > server.len() + 1 {
        words.drain(..server.len());
    }
    words
}

/// `issues_list` is `list issues`.
fn verb_first(mut words: Vec<String>) -> Vec<String> {
    const LAST: [&str; 3] = ["list", "get", "search"];
    let last = words.last().is_some_and(|it| LAST.contains(&it.as_str()));
    if last && words.len() > 1 {
        words.rotate_right(1);
    }
    words
}
