//! A request to a model tells of the use of tools: it has the person's words, the tools that the model
//! could choose from, and those it chose.

use kitbag_domain::{Caller, Outcome};
use kitbag_llm::trim::DialogueUpdate;

use super::sorted::SortedTools;
use crate::call::observe::send_event;
use crate::state::gateway::Gateway;
use kitbag_relevance::learned::event::{ClientKey, UseKind};

/// One request to a model. A call is told of in one request alone, the first after it was made.
#[derive(Debug, Clone)]
pub(crate) struct ModelTurn {
    pub(crate) caller: Caller,
    pub(crate) conversation: u64,
    /// The latest text of the person.
    pub(crate) words: String,
    /// True if the request before had other words.
    pub(crate) are_words_new: bool,
    /// Our tools that the model is shown with this request, under our names.
    pub(crate) offered: Vec<String>,
    /// Our tools that the model called for these words.
    pub(crate) used: Vec<String>,
}

impl ModelTurn {
    pub(super) fn of(
        caller: &Caller,
        conversation: u64,
        tools: &SortedTools<'_>,
        said: &DialogueUpdate<'_>,
        is_kept: &[bool],
    ) -> Self {
        let used = said.calls.iter().filter_map(|name| tools.meant(name));
        Self {
            caller: caller.clone(),
            conversation,
            words: tools.dialogue().words.clone(),
            are_words_new: said.are_words_new,
            offered: tools.kept_own(is_kept).map(str::to_owned).collect(),
            used: used.map(str::to_owned).collect(),
        }
    }
}

/// Hands over what a request to a model tells. The call itself comes in through MCP, mostly without
/// the words that led to it, which only the model's request has.
pub(super) fn observed(gateway: &Gateway, turn: &ModelTurn) {
    let client = ClientKey {
        caller: turn.caller.clone(),
        id: Some(format!("model/{:x}", turn.conversation).into()),
    };
    let said = turn.are_words_new.then(|| UseKind::Said {
        words: turn.words.as_str().into(),
    });
    let surfaced = UseKind::Surfaced {
        tools: turn.offered.clone().into(),
    };
    let called = turn.used.iter().map(|tool| UseKind::Called {
        tool: tool.clone(),
        arguments: None,
        outcome: Outcome::Ok,
    });
    for what in said.into_iter().chain([surfaced]).chain(called) {
        send_event(gateway, client.clone(), None, what);
    }
}
