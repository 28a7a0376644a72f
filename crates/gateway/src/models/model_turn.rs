//! Reports the use of tools in a request to a model: the user's text, the tools offered to the
//! model, and the tools it called.

use kitbag_domain::{Caller, Outcome};
use kitbag_llm::trim::DialogueUpdate;

use super::request_tools::RequestTools;
use crate::call::observe::send_event;
use crate::state::gateway::Gateway;
use kitbag_relevance::learning::event::{ClientKey, UseKind};

/// The use of tools in one request to a model. Each call is reported once, with the first request
/// after it.
#[derive(Debug, Clone)]
pub(crate) struct ModelTurn {
    pub(crate) caller: Caller,
    pub(crate) conversation: u64,
    /// The latest text of the user.
    pub(crate) prompt: String,
    /// True if the previous request had another text.
    pub(crate) is_prompt_new: bool,
    /// Kitbag's tools in this request, by Kitbag's names.
    pub(crate) offered: Vec<String>,
    /// Kitbag's tools that the model called.
    pub(crate) used: Vec<String>,
}

impl ModelTurn {
    pub(super) fn new(
        caller: &Caller,
        conversation: u64,
        tools: &RequestTools<'_>,
        update: &DialogueUpdate<'_>,
        is_kept: &[bool],
    ) -> Self {
        let used = update
            .calls
            .iter()
            .filter_map(|name| tools.own_name_for(name));
        Self {
            caller: caller.clone(),
            conversation,
            prompt: tools.dialogue().words.clone(),
            is_prompt_new: update.are_words_new,
            offered: tools.kept_own(is_kept).map(str::to_owned).collect(),
            used: used.map(str::to_owned).collect(),
        }
    }
}

/// Sends the events of a request to the learner. The calls themselves come in through MCP, mostly
/// without the user's text, which only the model's request has.
pub(super) fn report_model_turn(gateway: &Gateway, turn: &ModelTurn) {
    let client = ClientKey {
        caller: turn.caller.clone(),
        id: Some(format!("model/{:x}", turn.conversation).into()),
    };
    let prompt_event = turn.is_prompt_new.then(|| UseKind::Said {
        words: turn.prompt.as_str().into(),
    });
    let surfaced = UseKind::Surfaced {
        tools: turn.offered.clone().into(),
    };
    let called = turn.used.iter().map(|tool| UseKind::Called {
        tool: tool.clone(),
        arguments: None,
        outcome: Outcome::Ok,
    });
    for what in prompt_event.into_iter().chain([surfaced]).chain(called) {
        send_event(gateway, client.clone(), None, what);
    }
}
