//! One client: what it declared, what it is running, and what we asked it.
//!
//! A legacy client has one for its session. A modern one has one for its stdio pipe, or
//! a fresh one for each HTTP request, since nothing is remembered between those.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kitbag_wire::meta::{code, method};
use kitbag_wire::{
    ErrorObject, ProtocolVersion, Raw, RawObject, Request, RequestId, Response, raw,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::outbox::Outbox;
use crate::subscriptions::ListenerId;

/// Severities in the order of syslog, as `logging/setLevel` knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What `initialize` settled.
#[derive(Debug, Clone)]
pub(crate) struct Greeting {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: RawObject,
    pub(crate) listener: ListenerId,
}

#[derive(Debug)]
pub(crate) struct Peer {
    /// For messages that belong to no request.
    pub(crate) general: Outbox,
    greeting: OnceLock<Greeting>,
    state: Mutex<State>,
    roots_answered: watch::Sender<bool>,
}

impl Peer {
    pub(crate) fn new(general: Outbox) -> Self {
        let state = State {
            next_id: 1,
            log_level: Level::Debug,
            asked: HashMap::new(),
            running: HashMap::new(),
            roots: None,
            roots_asked: None,
        };
        Self {
            general,
            greeting: OnceLock::new(),
            state: Mutex::new(state),
            roots_answered: watch::Sender::new(false),
        }
    }

    pub(crate) fn greeting(&self) -> Option<&Greeting> {
        self.greeting.get()
    }

    /// False when the client had been greeted before.
    pub(crate) fn greet(&self, greeting: Greeting) -> bool {
        self.greeting.set(greeting).is_ok()
    }

    pub(crate) fn log_level(&self) -> Level {
        self.lock().log_level
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        self.lock().log_level = level;
    }

    /// Sends a request to the client and waits for its answer.
    ///
    /// Our ids count from one, like those of most clients: the two directions must not be mixed up.
    pub(crate) async fn ask(
        &self,
        outbox: &Outbox,
        method: &str,
        params: &Value,
    ) -> Result<Raw, ErrorObject> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.lock();
            let id = RequestId::Number(state.next_id);
            state.next_id += 1;
            state.asked.insert(id.clone(), answer);
            id
        };
        outbox.send(Request::new(id, method, Some(raw(params))));
        let gone = || {
            ErrorObject::new(
                code::INTERNAL_ERROR,
                "the client went away without an answer",
            )
        };
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    pub(crate) fn answered(&self, response: Response) {
        let mut state = self.lock();
        if response.id.is_some() && response.id == state.roots_asked {
            let roots = response
                .outcome
                .map_or_else(|error| error.message, |roots| roots.get().to_owned());
            (state.roots, state.roots_asked) = (Some(roots), None);
            return;
        }
        drop(state);
        let asked = response.id.and_then(|id| self.lock().asked.remove(&id));
        if let Some(asked) = asked {
            let _ = asked.send(response.outcome);
        }
    }

    pub(crate) fn begin(&self, id: &RequestId) -> CancellationToken {
        let token = CancellationToken::new();
        self.lock().running.insert(id.clone(), token.clone());
        token
    }

    pub(crate) fn end(&self, id: &RequestId) {
        self.lock().running.remove(id);
    }

    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.lock().running.get(id) {
            token.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        let mut state = self.lock();
        state.running.values().for_each(CancellationToken::cancel);
        state.asked.clear();
    }

    /// Asks for the roots; the answer is remembered before the next message is looked at.
    pub(crate) fn ask_for_roots(&self) {
        let id = {
            let mut state = self.lock();
            let id = RequestId::Number(state.next_id);
            state.next_id += 1;
            state.roots_asked = Some(id.clone());
            id
        };
        self.general
            .send(Request::new(id, method::LIST_ROOTS, None));
    }

    /// What the client last answered when it was asked for its roots.
    pub(crate) fn roots(&self) -> Option<String> {
        self.lock().roots.clone()
    }

    pub(crate) fn roots_are_known(&self) {
        self.roots_answered.send_replace(true);
    }

    pub(crate) async fn wait_for_roots(&self) {
        let _ = self
            .roots_answered
            .subscribe()
            .wait_for(|answered| *answered)
            .await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct State {
    next_id: i64,
    log_level: Level,
    asked: HashMap<RequestId, oneshot::Sender<Result<Raw, ErrorObject>>>,
    running: HashMap<RequestId, CancellationToken>,
    roots: Option<String>,
    roots_asked: Option<RequestId>,
}
