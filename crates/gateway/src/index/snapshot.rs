//! The index that searches see, replaced as a whole when a tool or its vector changes.

use std::sync::Arc;

use kitbag_domain::{Capability, ServerName};
use kitbag_relevance::{Index, Options, Retrieved, retrieve};
use kitbag_store::TextHash;

use super::intent::EmbeddedIntent;

/// The thing that a document of the index stands for.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Tool(Capability),
    /// An HTTP API.
    Provider(ServerName),
    /// A tool that waits for approval: it is counted and never found.
    Held(Capability),
}

/// The index together with what policy and the embedder want to know of its documents, in the same
/// order.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) index: Arc<Index>,
    pub(super) subjects: Arc<[Subject]>,
    /// The texts that the vectors are made from.
    pub(super) texts: Arc<[TextHash]>,
}

impl Snapshot {
    /// The best for an intent among what `allowed` lets through.
    pub(crate) fn search(
        &self,
        intent: &EmbeddedIntent,
        options: &Options,
        allowed: impl Fn(&Subject) -> bool,
    ) -> Retrieved {
        retrieve(&self.index, intent.as_intent(), options, |at| {
            allowed(&self.subjects[at])
        })
    }

    /// Returns the number of tools and APIs that callers may find, and how many of them have a vector.
    pub(crate) fn served(&self) -> (usize, usize) {
        let served = self.subjects.iter().enumerate();
        let served = served.filter(|(_, subject)| !subject.is_held());
        served.fold((0, 0), |(tools, embedded), (position, _)| {
            let is_embedded = self.index.is_embedded(position);
            (tools + 1, embedded + usize::from(is_embedded))
        })
    }
}

impl Subject {
    /// The server or API it belongs to.
    pub(crate) fn owner(&self) -> &ServerName {
        match self {
            Self::Tool(capability) | Self::Held(capability) => &capability.server,
            Self::Provider(name) => name,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Self::Held(_))
    }
}
