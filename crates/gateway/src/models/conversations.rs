//! Stores the tools of each conversation, for a limited number of conversations.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use kitbag_domain::Caller;
use kitbag_domain::sync::lock;
use kitbag_llm::trim::ConversationMemory;

use kitbag_domain::fairness::entry_to_evict;

/// Each takes one or two kilobytes. Beyond this many, the least recently seen conversation of the
/// caller with the most is dropped; if it continues, its tools are chosen again.
const MAX_CONVERSATIONS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Conversations {
    known: Mutex<HashMap<ConversationId, KnownConversation>>,
}

/// Callers never share a conversation, even if two begin with the same text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ConversationId {
    caller: Caller,
    number: u64,
}

struct KnownConversation {
    memory: ConversationMemory,
    seen: Instant,
}

impl Conversations {
    pub(crate) fn update<T>(
        &self,
        caller: &Caller,
        number: u64,
        change: impl FnOnce(&mut ConversationMemory) -> T,
    ) -> T {
        let id = ConversationId {
            caller: caller.clone(),
            number,
        };
        let mut known = lock(&self.known);
        if known.len() >= MAX_CONVERSATIONS && !known.contains_key(&id) {
            let entries = known.iter().map(|(id, it)| (id, &id.caller, it.seen));
            let dropped = entry_to_evict(entries).cloned();
            dropped.map(|id| known.remove(&id));
        }
        let conversation = known.entry(id).or_insert_with(|| KnownConversation {
            memory: ConversationMemory::default(),
            seen: Instant::now(),
        });
        conversation.seen = Instant::now();
        change(&mut conversation.memory)
    }
}
