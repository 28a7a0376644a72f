//! The things that clients do and that teach something, as they are handed to the learner.

use std::sync::Arc;

use kitbag_domain::{Caller, Outcome, Timestamp};
use kitbag_wire::Raw;

/// Something that a client did.
#[derive(Debug, Clone)]
pub(crate) struct UseEvent {
    pub(crate) client: ClientKey,
    pub(crate) at: Timestamp,
    pub(crate) what: UseKind,
}

/// Tells clients apart. Without an id it stands for all clients of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientKey {
    pub(crate) caller: Caller,
    pub(crate) id: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub(crate) enum UseKind {
    /// The person or the model said what is to be done.
    Said { words: Arc<str> },
    /// A search for these words found these tools, best first.
    Searched {
        words: Arc<str>,
        found: Arc<[String]>,
    },
    /// The client was shown these tools without having asked for them.
    Surfaced { tools: Arc<[String]> },
    Called {
        tool: String,
        arguments: Option<Raw>,
        outcome: Outcome,
    },
}

impl ClientKey {
    pub(crate) fn of_credential(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            id: None,
        }
    }
}

impl UseKind {
    /// The words that are to be compared with those of other times.
    pub(crate) fn words(&self) -> Option<&Arc<str>> {
        match self {
            Self::Said { words } | Self::Searched { words, .. } => Some(words),
            Self::Surfaced { .. } | Self::Called { .. } => None,
        }
    }
}
