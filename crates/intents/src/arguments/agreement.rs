//! Decides whether a request is about a tool, and whether it asks for more than the tool does.

use std::collections::HashSet;

use kitbag_domain::WriteClass;
use kitbag_domain::capability::split_name;
use kitbag_domain::derived_effect::name_implies_change;
use serde_json::Value;

use super::DescribedTool;
use super::known_words::{
    ASKING, CALCULATING, CHANGING, FILLING, LIMITING, READING, SAME, changes,
};
use super::request_parts::{PartKind, RequestParts};
use super::role::{Parameter, Role};
use crate::words::singular;

/// The rest of a request, apart from the arguments read from it.
#[derive(Debug, Default)]
pub(super) struct Explained {
    pub(super) named: usize,
    pub(super) unexplained: usize,
    /// Parts that the call would ignore although they are specific.
    pub(super) ignored_particulars: usize,
}

/// False if the request orders something other than the tool does.
pub(super) fn verbs_agree(request: &RequestParts<'_>, tool: &DescribedTool<'_>) -> bool {
    if request.len() == 0 {
        return false;
    }
    if let Some(agrees) = statement_agrees(request, tool) {
        return agrees;
    }
    let same = is_verb_of(request, tool);
    let orders = changes(&verb(request));
    match tool.class {
        WriteClass::Read => same || !orders,
        WriteClass::Unknown => {
            same || ASKING.contains(&verb(request).as_str()) && is_named_reader(tool)
        }
        WriteClass::Write | WriteClass::Destructive => same,
    }
}

/// True if the name says that the tool reads, although the rest of its definition is in doubt.
fn is_named_reader(tool: &DescribedTool<'_>) -> bool {
    let words = split_name(tool.name);
    let is_reading = |word: &String| READING.contains(&word.as_str());
    words.iter().any(is_reading)
        && !words.iter().any(|word| changes(word))
        && !name_implies_change(tool.server, tool.name)
}

/// The verb at the start of a request, as written.
fn verb(request: &RequestParts<'_>) -> String {
    request.raw(0).to_lowercase()
}

/// True if the request begins with the tool's verb, or with a near-synonym.
fn is_verb_of(request: &RequestParts<'_>, tool: &DescribedTool<'_>) -> bool {
    let (name, verb) = (stems(tool.name), verb(request));
    let groups = CHANGING.iter().chain(CALCULATING);
    let mut meant = groups
        .filter(|group| group.contains(&verb.as_str()))
        .flat_map(|group| group.iter());
    has_word(tool.name, &verb) || meant.any(|other| name.contains(&stem(other)))
}

/// A SQL statement itself says what it does: a tool that names kinds of statements must name this
/// one, and a tool that only reads is given no other statement. Absent for tools that take no
/// statement.
fn statement_agrees(request: &RequestParts<'_>, tool: &DescribedTool<'_>) -> Option<bool> {
    let parameters = Parameter::from_tool(tool);
    let mut needed = parameters.iter().filter(|it| it.required);
    needed.any(|it| it.role == Role::Statement).then_some(())?;
    let Some(keyword) = statement_start(request.text).map(|(_, keyword)| keyword) else {
        return Some(false);
    };
    let words: HashSet<String> = stems_of_text(tool.description)
        .chain(stems(tool.name))
        .collect();
    let reads = READING_STATEMENTS.contains(&keyword);
    let names = |keyword: &&str| words.contains(&stem(&keyword.to_lowercase()));
    let kinds = READING_STATEMENTS.iter().chain(CHANGING_STATEMENTS);
    Some(match kinds.clone().any(names) {
        true => reads == (tool.class == WriteClass::Read) && names(&keyword),
        // It takes any statement.
        false => reads || tool.class != WriteClass::Read,
    })
}

const READING_STATEMENTS: &[&str] = &["SELECT", "WITH", "EXPLAIN", "SHOW", "DESCRIBE"];
const CHANGING_STATEMENTS: &[&str] = &["INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER"];

/// Returns the offset of a SQL statement, and its first word.
pub(super) fn statement_start(text: &str) -> Option<(usize, &'static str)> {
    let keywords = READING_STATEMENTS.iter().chain(CHANGING_STATEMENTS);
    let offsets = keywords.filter_map(|keyword| {
        let at = text.find(&format!("{keyword} "))?;
        let alone = !text[..at].ends_with(|it: char| it.is_alphanumeric());
        alone.then_some((at, *keyword))
    });
    // In lower case, other verbs are words of any request.
    let lower = text.to_ascii_lowercase();
    let select = lower.starts_with("select ") && lower.contains(" from ");
    let offsets = offsets.chain(select.then_some((0, "SELECT")));
    offsets.min()
}

/// Counts the request's words that the tool explains; `used` marks the words that are already
/// arguments.
pub(super) fn count_explained_words(
    request: &RequestParts<'_>,
    tool: &DescribedTool<'_>,
    used: &[bool],
) -> Explained {
    let (name, vocabulary) = (stems(tool.name), vocabulary(tool));
    let mut explained = Explained::default();
    let states = statement_agrees(request, tool) == Some(true);
    if states || !name.contains(&stem(&verb(request))) && is_verb_of(request, tool) {
        explained.named += 1;
    }
    for (at, used) in used.iter().enumerate() {
        let written = request.raw(at).to_lowercase();
        let word = written.as_str();
        // A verb is compared as written: `find` is not the name of a tool that can `search`.
        let stem = stem(if at == 0 {
            word
        } else {
            request.folded_word(at)
        });
        let is_named = match at {
            0 => has_word(tool.name, word),
            _ => names_word(&name, &stem),
        };
        explained.named += usize::from(is_named && request.kind(at) != PartKind::Quoted);
        if *used {
            continue;
        }
        let second_order =
            at > 0 && changes(word) && matches!(request.folded_word(at - 1), "and" | "then" | "or");
        if second_order || LIMITING.contains(&word) || request.kind(at).is_particular() {
            explained.ignored_particulars += 1;
            continue;
        }
        let known =
            is_named || names_word(&vocabulary, &stem) || at == 0 && is_verb_of(request, tool);
        match request.kind(at) {
            PartKind::Preposition => {}
            PartKind::Name if !known && !FILLING.contains(&word) => {
                explained.ignored_particulars += 1;
            }
            _ if known || FILLING.contains(&word) => {}
            _ => explained.unexplained += 1,
        }
    }
    explained
}

/// True if a word of the request is about the tool, and not one that any request may have.
pub(super) fn names_subject(request: &RequestParts<'_>, tool: &DescribedTool<'_>) -> bool {
    let vocabulary = vocabulary(tool);
    let is_subject = |at: usize| {
        let word = request.folded_word(at);
        request.kind(at) != PartKind::Preposition
            && !FILLING.contains(&word)
            && !LIMITING.contains(&word)
            && names_word(&vocabulary, &stem(word))
    };
    (0..request.len()).any(is_subject)
}

fn has_word(name: &str, word: &str) -> bool {
    split_name(name).iter().any(|it| it == word)
}

fn names_word(words: &HashSet<String>, word: &str) -> bool {
    let mut same = SAME.iter().filter(|(term, _)| stem(term) == word);
    words.contains(word) || same.any(|(_, meant)| words.contains(&stem(meant)))
}

fn stems(name: &str) -> HashSet<String> {
    split_name(name).iter().map(|word| stem(word)).collect()
}

/// The stems of a definition.
fn vocabulary(tool: &DescribedTool<'_>) -> HashSet<String> {
    let mut words = stems(tool.server);
    words.extend(stems_of_text(tool.description));
    let properties = tool.schema["properties"].as_object();
    for (name, schema) in properties.into_iter().flatten() {
        words.extend(stems(name));
        let description = schema["description"].as_str();
        words.extend(stems_of_text(description.unwrap_or_default()));
        let choices = schema["enum"].as_array();
        let choices = choices.into_iter().flatten().filter_map(Value::as_str);
        words.extend(choices.flat_map(stems));
    }
    words
}

fn stems_of_text(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|it: char| !it.is_alphanumeric());
    words
        .filter(|it| !it.is_empty())
        .map(|it| stem(&it.to_lowercase()))
}

/// The stems of the names of a tool and its server.
pub(super) fn own_stems(tool: &DescribedTool<'_>) -> HashSet<String> {
    stems(tool.name)
        .into_iter()
        .chain(stems(tool.server))
        .collect()
}

/// `listed`, `listing` and `lists` are one word.
pub(super) fn stem(word: &str) -> String {
    let word = singular(word);
    for ending in ["ing", "ed"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 4
        {
            return stem.trim_end_matches('e').to_owned();
        }
    }
    match word.strip_suffix('e') {
        Some(stem) if stem.len() >= 4 => stem.to_owned(),
        _ => word,
    }
}
