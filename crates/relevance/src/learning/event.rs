//! Client actions to learn from.

use std::sync::Arc;

use kitbag_domain::{Caller, Outcome, Timestamp};

#[derive(Debug, Clone)]
pub struct UseEvent {
    pub client: ClientKey,
    /// The program run that the event belongs to.
    pub run: Option<Arc<str>>,
    pub at: Timestamp,
    pub what: UseKind,
}

/// Identifies a client. Without an id, it means all clients of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    pub caller: Caller,
    pub id: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub enum UseKind {
    /// The user or the model stated what the calls of this conversation or run should do.
    Said { words: Arc<str> },
    /// A search returned these tools, best first.
    Searched {
        words: Arc<str>,
        found: Arc<[String]>,
    },
    /// The client was shown these tools without searching.
    Surfaced { tools: Arc<[String]> },
    Called {
        tool: String,
        /// As JSON.
        arguments: Option<Arc<str>>,
        outcome: Outcome,
    },
}

/// A call's arguments, reduced to the part that lessons may use.
#[derive(Debug, Clone, Default)]
pub struct CallArguments {
    /// Only the values: if they share words with a request, the call followed from it.
    pub values: String,
    /// Names and values, if they are a context to learn.
    pub text: Option<String>,
}

impl ClientKey {
    pub fn for_credential(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            id: None,
        }
    }
}

impl UseKind {
    /// The text to embed.
    pub fn words(&self) -> Option<&Arc<str>> {
        match self {
            Self::Said { words } | Self::Searched { words, .. } => Some(words),
            Self::Surfaced { .. } | Self::Called { .. } => None,
        }
    }
}
