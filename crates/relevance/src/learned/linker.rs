//! Links a call to the words that led to it, where something shows the link: the tool was in the answer of
//! the search, or the words came with the call, or the arguments of the call agree with the words.
//!
//! Time limits a link and never makes one. Pure: the time comes with the events, and the same events give
//! the same drafts.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_domain::fairness::entry_to_drop;
use kitbag_domain::{Outcome, Timestamp};

use super::Signal;
use super::event::{CallArguments, ClientKey, UseEvent, UseKind};
use client::{ClientWork, WorkedCall};
use request::RequestInWords;

mod client;
mod request;

/// Beyond this many clients, the longest silent one of the caller who has most is forgotten.
const MOST_CLIENTS: usize = 10_000;

/// A lesson whose context may have no vector yet.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonDraft {
    pub tool: String,
    pub signal: Signal,
    pub context: DraftContext,
    pub session: i64,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DraftContext {
    Words {
        words: Arc<str>,
        vector: Arc<[f32]>,
    },
    /// The arguments of the call, as text; nothing if they say nothing.
    Arguments(Option<String>),
}

/// The clients that are at work.
#[derive(Debug, Default)]
pub struct UseLinker {
    by_client: HashMap<ClientKey, ClientWork>,
    requests: u64,
}

impl UseLinker {
    /// Takes in an event. `vector` is that of its words.
    pub fn take(
        &mut self,
        event: &UseEvent,
        vector: Option<Arc<[f32]>>,
        arguments: CallArguments,
    ) -> Vec<LessonDraft> {
        self.make_room(&event.client);
        let heard = self.requests_of_credential(event);
        let client = self
            .by_client
            .entry(event.client.clone())
            .or_insert_with(|| ClientWork::begin(&event.client, event.at));
        client.resume(&event.client, event.at);
        self.requests += 1;
        match &event.what {
            UseKind::Said { words } => {
                let request = RequestInWords::said(self.requests, words, vector, event.at);
                client.ask(event.run.as_ref(), request);
            }
            UseKind::Searched { words, found } => {
                let request =
                    RequestInWords::searched(self.requests, words, vector, found, event.at);
                client.ask(event.run.as_ref(), request);
            }
            UseKind::Surfaced { tools } => client.show(tools),
            UseKind::Called { tool, outcome, .. } => {
                if let Some(worked) = verdict(*outcome) {
                    let call = WorkedCall {
                        tool,
                        worked,
                        arguments,
                        at: event.at,
                    };
                    return client.call(event.run.as_ref(), &heard, call);
                }
            }
        }
        Vec::new()
    }

    /// The words that came in beside the protocol for all clients of a credential. A program was not written
    /// for them.
    fn requests_of_credential(&self, event: &UseEvent) -> Vec<RequestInWords> {
        let is_call = matches!(event.what, UseKind::Called { .. });
        if !is_call || event.run.is_some() || event.client.id.is_none() {
            return Vec::new();
        }
        let credential = ClientKey::of_credential(&event.client.caller);
        let heard = self.by_client.get(&credential);
        heard.map_or_else(Vec::new, |it| it.requests().cloned().collect())
    }

    fn make_room(&mut self, client: &ClientKey) {
        if self.by_client.len() < MOST_CLIENTS || self.by_client.contains_key(client) {
            return;
        }
        let clients = self.by_client.iter();
        let clients = clients.map(|(client, it)| (client, &client.caller, it.last_seen()));
        if let Some(dropped) = entry_to_drop(clients).cloned() {
            self.by_client.remove(&dropped);
        }
    }
}

/// True if the tool did its work, false if it did not; nothing where the tool is not at fault.
fn verdict(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok => Some(true),
        Outcome::ToolError | Outcome::Refused | Outcome::Unavailable | Outcome::TimedOut => {
            Some(false)
        }
        Outcome::Denied
        | Outcome::Invalid
        | Outcome::Cancelled
        | Outcome::InputRequired
        | Outcome::Unfinished => None,
    }
}

#[cfg(test)]
mod tests;
