//! A request to a model tells of the use of tools: it has the person's words, the tools that the model
//! could choose from, and those it chose.

use kitbag_domain::Caller;
use kitbag_models::NewlySaid;

use super::sorted::SortedTools;
use crate::gateway::Gateway;

/// One request to a model. A call is told of in one request alone, the first after it was made.
#[derive(Debug, Clone)]
pub(crate) struct ModelTurn {
    pub(crate) caller: Caller,
    pub(crate) conversation: u64,
    /// The latest text of the person.
    pub(crate) words: String,
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
        said: &NewlySaid<'_>,
        is_kept: &[bool],
    ) -> Self {
        let used = said.calls.iter().filter_map(|name| tools.meant(name));
        Self {
            caller: caller.clone(),
            conversation,
            words: tools.dialogue().words.clone(),
            offered: tools.kept_own(is_kept).map(str::to_owned).collect(),
            used: used.map(str::to_owned).collect(),
        }
    }
}

/// Every request to a model that offers tools comes by here.
pub(crate) fn observed(_gateway: &Gateway, turn: &ModelTurn) {
    tracing::trace!(
        tenant = turn.caller.tenant.as_str(),
        conversation = turn.conversation,
        words = turn.words.len(),
        offered = turn.offered.len(),
        used = turn.used.len(),
        "a request to a model was heard"
    );
}
