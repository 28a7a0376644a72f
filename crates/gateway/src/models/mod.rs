//! Requests to models that pass through the gateway: which of our tools stay in a request, and what
//! the request tells of the use of tools.
//!
//! # Layout
//! - this file: the way of a request from its body to a shorter one
//! - `sorted`: the tools of a request, ours apart from others; `needs`: the tools it needs
//! - `relevant`: the tools for the person's words, within a short time
//! - `heard`: what a request tells of the use of tools
//!
//! Reading and writing requests is in `kitbag-llm`; the HTTP part is in `front::models`.

pub(crate) mod conversations;
pub(crate) mod heard;
pub(crate) mod model_vendors;
mod needs;
mod relevant;
mod sorted;

use std::sync::Arc;

use kitbag_budget::estimate_result_tokens;
use kitbag_domain::Caller;
use kitbag_llm::trim::{ConversationMemory, ModelRequest, SelectedTools, ToolNeeds};
use kitbag_telemetry::model_requests::ModelFigures;

use self::heard::ModelTurn;
use self::needs::{foreign_needs, own_needs};
use self::relevant::{RelevantTools, relevant};
use self::sorted::{SortedTools, ToolRooms};
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;

/// A request after its tools were looked at.
pub(crate) struct TrimmedRequest {
    /// The new body; absent if the request goes on as it came.
    pub(crate) body: Option<String>,
    pub(crate) figures: ModelFigures,
}

/// Keeps the tools that a request needs, and no more of ours than there is room for.
pub(crate) async fn trim(
    gateway: &Arc<Gateway>,
    catalog: &Catalog,
    caller: &Caller,
    request: &ModelRequest<'_>,
) -> TrimmedRequest {
    let tools = SortedTools::of(gateway, catalog, caller, request);
    let rooms = ToolRooms::of(gateway.models.foreign_tools(), request.api, &tools);
    let (Some(rooms), Some(conversation)) = (rooms, request.dialogue.conversation) else {
        return written(request, &tools, &tools.passing());
    };
    let conversations = &gateway.services.conversations;
    let (said, before) = conversations.change(caller, conversation, |memory| {
        (
            memory.record_dialogue(&request.dialogue),
            memory.own.clone(),
        )
    });
    let (mut own, mut foreign) = (ToolNeeds::default(), ToolNeeds::default());
    let mut is_unguided = false;
    if tools.own_count() > rooms.own {
        own = own_needs(gateway, catalog, &tools, &said);
        if said.are_words_new {
            let found = relevant(gateway, caller, &tools).await;
            is_unguided = found.is_none();
            own.relevant = found.and_then(|found| found.needed(&before));
        }
    }
    if tools.foreign_count() > rooms.foreign {
        foreign = foreign_needs(&tools, &said);
    }
    let is_kept = conversations.change(caller, conversation, |memory| {
        chosen(memory, &tools, rooms, (&own, &foreign))
    });
    let turn = ModelTurn::of(caller, conversation, &tools, &said, &is_kept);
    let mut trimmed = written(request, &tools, &is_kept);
    trimmed.figures.unguided = u64::from(is_unguided);
    trimmed.figures.used = turn.used.len() as u64;
    heard::observed(gateway, &turn);
    trimmed
}

impl<'r> RelevantTools<'r> {
    /// Words that ask for nothing clearly need no other tools than those that are there already. At the
    /// beginning of a conversation they need the nearest, unless they ask for none.
    fn needed(self, before: &SelectedTools) -> Option<Vec<&'r str>> {
        let is_beginning = *before == SelectedTools::All;
        match (self.are_clear, is_beginning, self.ask_for_none) {
            (true, ..) | (false, true, false) => Some(self.names),
            (false, true, true) => Some(Vec::new()),
            (false, false, _) => None,
        }
    }
}

/// Says for each tool whether it stays. What is held back never does. A request that would lose all its
/// tools keeps them where the vendor would refuse it without.
fn chosen(
    memory: &mut ConversationMemory,
    tools: &SortedTools<'_>,
    rooms: ToolRooms,
    (own, foreign): (&ToolNeeds<'_>, &ToolNeeds<'_>),
) -> Vec<bool> {
    let trims_own = tools.own_count() > rooms.own;
    let trims_foreign = tools.foreign_count() > rooms.foreign;
    if trims_own {
        memory
            .own
            .choose_tools(own, rooms.own, |name| tools.own(name).is_some());
    }
    if trims_foreign {
        memory
            .foreign
            .choose_tools(foreign, rooms.foreign, |name| tools.foreign(name).is_some());
    }
    let is_kept = tools.decide(
        |name| !trims_own || memory.own.contains(name),
        |name| !trims_foreign || memory.foreign.contains(name),
    );
    if is_kept.contains(&true) || tools.request.may_lose_all_tools {
        is_kept
    } else {
        tools.passing()
    }
}

fn written(
    request: &ModelRequest<'_>,
    tools: &SortedTools<'_>,
    is_kept: &[bool],
) -> TrimmedRequest {
    let (offered, kept) = tools.count_own(is_kept);
    let body = is_kept
        .contains(&false)
        .then(|| request.with_tools(is_kept));
    let tokens_saved = tokens(request, is_kept);
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

/// Estimates the tokens of the tools that do not stay. The price of one tool is that of its share
/// of the bytes: pricing each would take longer than the estimate is worth.
fn tokens(request: &ModelRequest<'_>, is_kept: &[bool]) -> u64 {
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
