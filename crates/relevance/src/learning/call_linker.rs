//! Links calls to the requests that led to them, if there is evidence: the search returned the
//! tool, the request came with the call, or the call's arguments agree with the request.
//!
//! Time limits a link but never makes one. Pure: events carry their time, and the same events give
//! the same drafts.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_domain::fairness::entry_to_evict;
use kitbag_domain::{Outcome, Timestamp};

use super::Signal;
use super::event::{CallArguments, ClientKey, UseEvent, UseKind};
use client_history::{ClientHistory, FinishedCall};
use recent_requests::ClientRequest;

mod client_history;
mod recent_requests;

/// Beyond this, the caller with the most clients loses the one that was silent longest.
const MAX_CLIENTS: usize = 10_000;

/// A lesson whose context may not be embedded yet.
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
    /// The call's arguments as text; `None` if they are not informative.
    Arguments(Option<String>),
}

/// The recent activity of all clients.
#[derive(Debug, Default)]
pub struct CallLinker {
    by_client: HashMap<ClientKey, ClientHistory>,
    requests: u64,
}

impl CallLinker {
    /// Takes the next event, with the vector of its text, and returns the lessons it teaches.
    pub fn record_event(
        &mut self,
        event: &UseEvent,
        vector: Option<Arc<[f32]>>,
        arguments: CallArguments,
    ) -> Vec<LessonDraft> {
        self.make_room(&event.client);
        let credential_requests = self.requests_for_credential(event);
        let client = self
            .by_client
            .entry(event.client.clone())
            .or_insert_with(|| ClientHistory::new(&event.client, event.at));
        client.resume(&event.client, event.at);
        self.requests += 1;
        match &event.what {
            UseKind::Said { words } => {
                let request = ClientRequest::from_prompt(self.requests, words, vector, event.at);
                client.add_request(event.run.as_ref(), request);
            }
            UseKind::Searched { words, found } => {
                let request =
                    ClientRequest::from_search(self.requests, words, vector, found, event.at);
                client.add_request(event.run.as_ref(), request);
            }
            UseKind::Surfaced { tools } => client.set_surfaced(tools),
            UseKind::Called { tool, outcome, .. } => {
                if let Some(succeeded) = judge_outcome(*outcome) {
                    let call = FinishedCall {
                        tool,
                        succeeded,
                        arguments,
                        at: event.at,
                    };
                    return client.link_call(event.run.as_ref(), &credential_requests, call);
                }
            }
        }
        Vec::new()
    }

    /// Requests that arrived outside MCP, for all clients of a credential. They do not explain the
    /// calls of programs.
    fn requests_for_credential(&self, event: &UseEvent) -> Vec<ClientRequest> {
        let is_call = matches!(event.what, UseKind::Called { .. });
        if !is_call || event.run.is_some() || event.client.id.is_none() {
            return Vec::new();
        }
        let credential = ClientKey::for_credential(&event.client.caller);
        let credential_requests = self.by_client.get(&credential);
        credential_requests.map_or_else(Vec::new, |it| it.requests().cloned().collect())
    }

    fn make_room(&mut self, client: &ClientKey) {
        if self.by_client.len() < MAX_CLIENTS || self.by_client.contains_key(client) {
            return;
        }
        let clients = self.by_client.iter();
        let clients = clients.map(|(client, it)| (client, &client.caller, it.last_seen()));
        if let Some(dropped) = entry_to_evict(clients).cloned() {
            self.by_client.remove(&dropped);
        }
    }
}

/// True if the tool worked, false if it failed, `None` if the tool is not to blame.
fn judge_outcome(outcome: Outcome) -> Option<bool> {
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
