//! The words that a person just said to an agent, heard beside the protocol: the tools worth knowing
//! for them are told, the adaptive lists follow, and the learner hears them.

use std::sync::Arc;

use kitbag_domain::Caller;
use kitbag_domain::text::visible_line;
use kitbag_relevance::{Candidate, MAX_TOP_K};
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};

use crate::find::{Findings, find_best};
use crate::gateway::Gateway;
use crate::learning::observe;
use crate::signature::{request, signature};
use crate::surface::shown;

/// Most tasks need three to five tools.
pub(crate) const USUAL: usize = 5;

/// The tools for the words of a person.
#[derive(Debug, Serialize, Deserialize)]
pub struct HeardWords {
    pub tools: Vec<WorthKnowing>,
    /// True if the first tool is likely to do what the person wants, false also where that cannot be
    /// told.
    pub is_clear: bool,
}

/// A tool or an HTTP API by its name, and in one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct WorthKnowing {
    pub name: String,
    pub line: String,
    pub score: f32,
}

pub(crate) async fn hear(
    gateway: &Gateway,
    caller: &Caller,
    words: &str,
    places: usize,
) -> HeardWords {
    let found = find_best(gateway, caller, words, places.clamp(1, MAX_TOP_K)).await;
    // The nearest tools to a text that needs none would only be in the way.
    let useful: Vec<&Candidate> = match found.confident {
        Some(false) => Vec::new(),
        _ => found.candidates.iter().collect(),
    };
    let names: Arc<[String]> = useful.iter().map(|it| it.entry.tool_name.clone()).collect();
    shown::said(gateway, caller, names.iter().map(String::as_str));
    observe::said_by(gateway, caller, words, names);
    let tools = useful.iter().filter_map(|it| told(gateway, &found, it));
    HeardWords {
        tools: tools.collect(),
        is_clear: found.confident == Some(true),
    }
}

fn told(gateway: &Gateway, found: &Findings, candidate: &Candidate) -> Option<WorthKnowing> {
    let name = candidate.entry.tool_name.clone();
    let line = match found.catalog.tool(&name) {
        Some(entry) => {
            let definition = RawObject::open(&entry.definition).unwrap_or_default();
            visible_line(&signature(&entry.exposed, &definition))
        }
        None => request(gateway.providers.get(&name.parse().ok()?)?.spec()),
    };
    let score = candidate.score;
    Some(WorthKnowing { name, line, score })
}
