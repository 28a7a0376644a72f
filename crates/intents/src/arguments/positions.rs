//! Positions of values in a request: after a preposition, next to the noun of a parameter.

use super::DescribedTool;
use super::agreement::stem;
use super::request_parts::{PartKind, RequestParts};
use super::role::Parameter;
use kitbag_domain::capability::split_name;

/// Words in a parameter's name that only mark it as a name.
const NAMING: &[&str] = &[
    "name", "names", "id", "ids", "key", "path", "number", "code", "title", "slug", "uid", "to",
    "from", "by", "the", "filename", "filepath",
];

/// Words before a text that say which one it is.
pub(super) const LABELS: &[&str] = &[
    "name",
    "title",
    "id",
    "message",
    "content",
    "text",
    "author",
    "subject",
    "tag",
    "description",
    "password",
];

/// The words for the thing that a parameter names: `table` for `table_name`, and the nouns of the
/// tool for `name`.
pub(super) fn nouns(parameter: &Parameter<'_>, tool: &DescribedTool<'_>) -> Vec<String> {
    let own = parameter.words.iter();
    let own: Vec<String> = own
        .filter(|word| !NAMING.contains(&word.as_str()))
        .map(|word| stem(word))
        .collect();
    if !own.is_empty() {
        return own;
    }
    // `with the name "Tea"` names the parameter itself.
    let labels = parameter.words.iter();
    let labels = labels.filter(|word| LABELS.contains(&word.as_str()));
    let labels = labels.map(|word| stem(word));
    let words = split_name(tool.name);
    // `task_get` has its verb at the end.
    match words.as_slice() {
        [nouns @ .., last]
            if !nouns.is_empty() && is_tool_verb(last) && !is_tool_verb(&nouns[0]) =>
        {
            labels.chain(nouns.iter().map(|word| stem(word))).collect()
        }
        words => labels
            .chain(words.iter().skip(1).map(|word| stem(word)))
            .collect(),
    }
}

fn is_tool_verb(word: &str) -> bool {
    const VERBS: &[&str] = &[
        "get", "list", "read", "show", "find", "search", "create", "update", "delete", "remove",
        "add",
    ];
    VERBS.contains(&word)
}

/// Returns the position of a name next to one of these nouns: `the table orders`, `the orders
/// table`.
pub(super) fn find_name_next_to_noun(
    request: &RequestParts<'_>,
    nouns: &[String],
    used: &[bool],
) -> Option<usize> {
    let is_noun = |at: usize| nouns.contains(&stem(request.folded_word(at)));
    let found: Vec<usize> = (0..request.len()).filter(|at| is_noun(*at)).collect();
    let free = |at: usize| at < request.len() && !used[at] && !is_noun(at);
    let value = |at: usize| free(at) && request.kind(at) != PartKind::Preposition;
    let behind = found.iter().find_map(|at| {
        let naming = matches!(
            request.folded_word_or_none(at + 1),
            Some("named" | "called")
        );
        match naming {
            true => Some(at + 2).filter(|it| value(*it)),
            false => Some(at + 1).filter(|it| value(*it)),
        }
    });
    behind.or_else(|| {
        let before = found.iter().filter(|at| **at > 1).map(|at| at - 1);
        before.into_iter().find(|it| value(*it))
    })
}

/// Returns the range of words after one of these, up to a preposition that begins another value.
pub(super) fn range_after(
    request: &RequestParts<'_>,
    leads: &[&str],
    used: &[bool],
) -> Option<(usize, usize)> {
    let mut positions = 0..request.len();
    positions.find_map(|at| {
        let leads = leads.contains(&request.folded_word(at)) && !used[at];
        let end = leads.then(|| end_of_text(request, at + 1, used))?;
        (at + 1 < end).then_some((at + 1, end))
    })
}

/// The end of a text that begins at `start`: a used word, or a preposition before a value.
pub(super) fn end_of_text(request: &RequestParts<'_>, start: usize, used: &[bool]) -> usize {
    let mut positions = start..request.len();
    let end = positions.find(|at| {
        let next = at + 1;
        let value = |at: usize| used[at] || request.kind(at).is_particular();
        used[*at]
            || request.kind(*at) == PartKind::Preposition && next < request.len() && value(next)
    });
    end.unwrap_or(request.len())
}

impl RequestParts<'_> {
    pub(super) fn folded_word_or_none(&self, at: usize) -> Option<&str> {
        (at < self.len()).then(|| self.folded_word(at))
    }
}
