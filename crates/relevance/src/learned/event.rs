//! The things that clients do and that teach something, as they are handed in.

use std::sync::Arc;

use kitbag_domain::{Caller, Outcome, Timestamp};

/// Something that a client did.
#[derive(Debug, Clone)]
pub struct UseEvent {
    pub client: ClientKey,
    /// The run of a program that the event is a part of.
    pub run: Option<Arc<str>>,
    pub at: Timestamp,
    pub what: UseKind,
}

/// Tells clients apart. Without an id it stands for all clients of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    pub caller: Caller,
    pub id: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub enum UseKind {
    /// The person or the model said what the calls of this conversation or run are to do.
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
        /// As JSON.
        arguments: Option<Arc<str>>,
        outcome: Outcome,
    },
}

/// The arguments of a call, as far as something may be learned from them.
#[derive(Debug, Clone, Default)]
pub struct CallArguments {
    /// The values alone: words in them show that the call followed from the same words.
    pub values: String,
    /// Names and values, where they are a context to learn.
    pub text: Option<String>,
}

impl ClientKey {
    pub fn of_credential(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            id: None,
        }
    }
}

impl UseKind {
    /// The words that are to be compared with those of other times.
    pub fn words(&self) -> Option<&Arc<str>> {
        match self {
            Self::Said { words } | Self::Searched { words, .. } => Some(words),
            Self::Surfaced { .. } | Self::Called { .. } => None,
        }
    }
}
