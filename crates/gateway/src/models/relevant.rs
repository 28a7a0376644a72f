//! The tools for the person's words, within a short time.

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::Caller;
use kitbag_relevance::learned::{Votes, places};
use kitbag_relevance::{Candidate, MAX_TOP_K};

use super::sorted::SortedTools;
use crate::state::gateway::Gateway;
use crate::surface::find::{Findings, find_best};

/// A search takes a few milliseconds. A request that has waited this long goes on without, because
/// a person waits for the model's first word.
const PATIENCE: Duration = Duration::from_millis(30);
/// Half of the room: the set must be able to grow for what the person says next, since each tool
/// that goes makes the vendor's cache useless.
const MOST_RELEVANT: usize = MAX_TOP_K / 2;
/// The index remembers the vectors of texts up to 1,024 bytes; a text is cut to that, and keeps its
/// two ends, in which a person says what to do with what stands between.
const LONGEST_END: usize = 500;

/// The probability that a tool is right from which words are clear. A search that shows the nearest tools does
/// no harm, but a list that changes makes the vendor's cache useless, so this is more than a search asks for.
const CLEAR: f32 = 0.3;

/// The tools of a request that fit the person's latest words.
pub(super) struct RelevantTools<'r> {
    /// The best first.
    pub(super) names: Vec<&'r str>,
    /// False if the words, such as a plain "yes", ask for nothing that a tool clearly does.
    pub(super) are_clear: bool,
    /// True if the words probably ask for nothing that any tool does.
    pub(super) ask_for_none: bool,
}

/// Returns nothing if the search is not done in time or has no vectors: words alone are too weak to
/// drop tools for.
pub(super) async fn relevant<'r>(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    tools: &SortedTools<'r>,
) -> Option<RelevantTools<'r>> {
    let words = ends(&tools.dialogue().words);
    if words.is_empty() {
        return None;
    }
    // The task goes on when the time is up, so that the next request finds the vector.
    let searching = tokio::spawn(search(gateway.clone(), caller.clone(), words));
    let found = tokio::time::timeout(PATIENCE, searching).await.ok()?.ok()?;
    if found.degraded.is_some() {
        return None;
    }
    // The more is known of requests like this one, the fewer tools it needs.
    let known = found.votes.as_ref().map_or(0.0, Votes::confidence);
    let places = places(known).min(MOST_RELEVANT);
    let offered = found
        .candidates
        .iter()
        .filter_map(|candidate| offered(tools, candidate));
    Some(RelevantTools {
        names: offered.take(places).collect(),
        are_clear: found.confidence.is_none_or(|it| it.any >= CLEAR),
        ask_for_none: found.confidence.is_some_and(|it| !it.is_likely()),
    })
}

async fn search(gateway: Arc<Gateway>, caller: Caller, words: String) -> Findings {
    find_best(&gateway, &caller, &words, MAX_TOP_K).await
}

/// Returns a found tool, or a copy of it on another server, if the request offers it.
fn offered<'r>(tools: &SortedTools<'r>, candidate: &Candidate) -> Option<&'r str> {
    let copies = candidate.copies.iter().map(|copy| &copy.tool_name);
    std::iter::once(&candidate.entry.tool_name)
        .chain(copies)
        .find_map(|name| tools.own(name))
}

fn ends(words: &str) -> String {
    if words.len() <= 2 * LONGEST_END {
        return words.to_owned();
    }
    let first = &words[..words.floor_char_boundary(LONGEST_END)];
    let last = &words[words.ceil_char_boundary(words.len() - LONGEST_END)..];
    format!("{first}\n{last}")
}
