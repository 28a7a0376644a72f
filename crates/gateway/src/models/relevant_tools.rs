//! Searches the tools relevant to the user's latest text, with a short timeout.

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::Caller;
use kitbag_relevance::learning::{Votes, tools_to_show};
use kitbag_relevance::{Candidate, MAX_TOP_K};

use super::request_tools::RequestTools;
use crate::state::gateway::Gateway;
use crate::surface::find::{Findings, find_best};

/// A search takes a few milliseconds. A request does not wait longer, because the user is waiting
/// for the model's first token.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(30);
/// Half of the limit: the set must be able to grow with the conversation, since each removed tool
/// invalidates the vendor's cache.
const MAX_RELEVANT: usize = MAX_TOP_K / 2;
/// The index caches vectors of texts up to 1,024 bytes. A longer text keeps its two ends, which
/// usually hold the task; the material is in between.
const MAX_END_BYTES: usize = 500;

/// The least probability of a correct tool at which a text is clear. It is higher than for a
/// search, because a changed list invalidates the vendor's cache.
const CLEAR_PROBABILITY: f32 = 0.3;

pub(super) struct RelevantTools<'r> {
    /// Best first.
    pub(super) names: Vec<&'r str>,
    /// False if no tool clearly matches the text, such as a plain "yes".
    pub(super) are_clear: bool,
    /// True if the text probably needs no tool.
    pub(super) ask_for_none: bool,
}

/// Returns `None` if the search times out or has no vectors: shared words are too weak a reason to
/// remove tools.
pub(super) async fn find_relevant<'r>(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    tools: &RequestTools<'r>,
) -> Option<RelevantTools<'r>> {
    let text = keep_both_ends(&tools.dialogue().words);
    if text.is_empty() {
        return None;
    }
    // The task continues after the timeout, so that the next request finds the vector.
    let searching = tokio::spawn(search_owned(gateway.clone(), caller.clone(), text));
    let found = tokio::time::timeout(SEARCH_TIMEOUT, searching)
        .await
        .ok()?
        .ok()?;
    if found.degraded.is_some() {
        return None;
    }
    // The more lessons match the text, the fewer tools it needs.
    let known = found.votes.as_ref().map_or(0.0, Votes::confidence);
    let limit = tools_to_show(known).min(MAX_RELEVANT);
    let offered = found
        .candidates
        .iter()
        .filter_map(|candidate| find_offered(tools, candidate));
    Some(RelevantTools {
        names: offered.take(limit).collect(),
        are_clear: found
            .confidence
            .is_none_or(|it| it.any >= CLEAR_PROBABILITY),
        ask_for_none: found.confidence.is_some_and(|it| !it.is_likely()),
    })
}

async fn search_owned(gateway: Arc<Gateway>, caller: Caller, text: String) -> Findings {
    find_best(&gateway, &caller, &text, MAX_TOP_K).await
}

/// Returns a found tool, or its copy on another server, if the request has it.
fn find_offered<'r>(tools: &RequestTools<'r>, candidate: &Candidate) -> Option<&'r str> {
    let copies = candidate.copies.iter().map(|copy| &copy.tool_name);
    std::iter::once(&candidate.entry.tool_name)
        .chain(copies)
        .find_map(|name| tools.find_own(name))
}

fn keep_both_ends(text: &str) -> String {
    if text.len() <= 2 * MAX_END_BYTES {
        return text.to_owned();
    }
    let first = &text[..text.floor_char_boundary(MAX_END_BYTES)];
    let last = &text[text.ceil_char_boundary(text.len() - MAX_END_BYTES)..];
    format!("{first}\n{last}")
}
