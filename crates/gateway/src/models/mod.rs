//! Requests to models: trims the tools in a request, and reports their use to the learner.
//!
//! Uses the catalog, the search and the learner. HTTP is handled in `front::models`, and requests
//! are parsed in `kitbag-llm`.
//!
//! # Layout
//! - this file: from a parsed request to a shorter body
//! - `request_tools`: the tools of a request: Kitbag's, foreign and fixed; `needs`: the tools it
//!   needs
//! - `relevant_tools`: a search for the user's text, with a short timeout
//! - `conversations`: the tools that each conversation has
//! - `model_turn`: reports the use of tools
//! - `model_vendors`: addresses and keys of vendors

pub(crate) mod conversations;
pub(crate) mod model_turn;
pub(crate) mod model_vendors;
mod needs;
mod relevant_tools;
mod request_tools;

use std::sync::Arc;

use kitbag_budget::estimate_result_tokens;
use kitbag_domain::Caller;
use kitbag_llm::trim::{ConversationMemory, ModelRequest, SelectedTools, ToolNeeds};
use kitbag_telemetry::model_requests::ModelFigures;

use self::model_turn::ModelTurn;
use self::needs::{foreign_needs, own_needs};
use self::relevant_tools::{RelevantTools, find_relevant};
use self::request_tools::{RequestTools, ToolLimits};
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;

/// A request with the tools it needs.
pub(crate) struct TrimmedRequest {
    /// The new body; absent if the request stays unchanged.
    pub(crate) body: Option<String>,
    pub(crate) figures: ModelFigures,
}

/// Keeps the tools that a request needs, up to the limits.
pub(crate) async fn trim_tools(
    gateway: &Arc<Gateway>,
    catalog: &Catalog,
    caller: &Caller,
    request: &ModelRequest<'_>,
) -> TrimmedRequest {
    let tools = RequestTools::classify(gateway, catalog, caller, request);
    let limits = ToolLimits::for_request(gateway.models.foreign_tools(), request.api, &tools);
    let (Some(limits), Some(conversation)) = (limits, request.dialogue.conversation) else {
        return rewrite_request(request, &tools, &tools.all_but_unapproved());
    };
    let conversations = &gateway.services.conversations;
    let (update, before) = conversations.update(caller, conversation, |memory| {
        (
            memory.record_dialogue(&request.dialogue),
            memory.own.clone(),
        )
    });
    let (mut own, mut foreign) = (ToolNeeds::default(), ToolNeeds::default());
    let mut is_unguided = false;
    if tools.own_count() > limits.own {
        own = own_needs(gateway, catalog, &tools, &update);
        if update.are_words_new {
            let found = find_relevant(gateway, caller, &tools).await;
            is_unguided = found.is_none();
            own.relevant = found.and_then(|found| found.names_needed(&before));
        }
    }
    if tools.foreign_count() > limits.foreign {
        foreign = foreign_needs(&tools, &update);
    }
    let is_kept = conversations.update(caller, conversation, |memory| {
        choose_tools_to_keep(memory, &tools, limits, (&own, &foreign))
    });
    let turn = ModelTurn::new(caller, conversation, &tools, &update, &is_kept);
    let mut trimmed = rewrite_request(request, &tools, &is_kept);
    trimmed.figures.unguided = u64::from(is_unguided);
    trimmed.figures.used = turn.used.len() as u64;
    model_turn::report_model_turn(gateway, &turn);
    trimmed
}

impl<'r> RelevantTools<'r> {
    /// Returns the tools to add for the user's text. An unclear text adds no tools to a running
    /// conversation; at its beginning it adds the nearest tools, unless it needs none.
    fn names_needed(self, before: &SelectedTools) -> Option<Vec<&'r str>> {
        let is_beginning = *before == SelectedTools::All;
        match (self.are_clear, is_beginning, self.ask_for_none) {
            (true, ..) | (false, true, false) => Some(self.names),
            (false, true, true) => Some(Vec::new()),
            (false, false, _) => None,
        }
    }
}

/// Decides for each tool whether the request keeps it. Unapproved tools are always removed. A
/// request that would lose all its tools keeps them if its vendor would otherwise reject it.
fn choose_tools_to_keep(
    memory: &mut ConversationMemory,
    tools: &RequestTools<'_>,
    limits: ToolLimits,
    (own, foreign): (&ToolNeeds<'_>, &ToolNeeds<'_>),
) -> Vec<bool> {
    let trims_own = tools.own_count() > limits.own;
    let trims_foreign = tools.foreign_count() > limits.foreign;
    if trims_own {
        memory
            .own
            .choose_tools(own, limits.own, |name| tools.find_own(name).is_some());
    }
    if trims_foreign {
        memory
            .foreign
            .choose_tools(foreign, limits.foreign, |name| {
                tools.find_foreign(name).is_some()
            });
    }
    let is_kept = tools.decide(
        |name| !trims_own || memory.own.contains(name),
        |name| !trims_foreign || memory.foreign.contains(name),
    );
    if is_kept.contains(&true) || tools.request.may_lose_all_tools {
        is_kept
    } else {
        tools.all_but_unapproved()
    }
}

fn rewrite_request(
    request: &ModelRequest<'_>,
    tools: &RequestTools<'_>,
    is_kept: &[bool],
) -> TrimmedRequest {
    let (offered, kept) = tools.count_own(is_kept);
    let body = is_kept
        .contains(&false)
        .then(|| request.with_tools(is_kept));
    let tokens_saved = estimate_saved_tokens(request, is_kept);
    TrimmedRequest {
        figures: ModelFigures {
            requests: 1,
            offered,
            kept,
            tokens_saved,
            ..ModelFigures::default()
        },
        body,
    }
}

/// Estimates the tokens of the removed tools from their share of the bytes. Estimating each tool
/// would take too long.
fn estimate_saved_tokens(request: &ModelRequest<'_>, is_kept: &[bool]) -> u64 {
    if !is_kept.contains(&false) {
        return 0;
    }
    let lengths = request.tools.iter().map(|tool| tool.text.len());
    let gone: usize = lengths
        .zip(is_kept)
        .filter_map(|(length, is_kept)| (!is_kept).then_some(length))
        .sum();
    let whole = request.tools_text();
    (estimate_result_tokens(whole) * gone / whole.len().max(1)) as u64
}
