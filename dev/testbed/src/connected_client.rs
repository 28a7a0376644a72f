//! One client: its declared capabilities, its running requests, and the questions it was asked.
//!
//! A legacy client has one value for its session. A modern one has one for its stdio pipe, or a
//! fresh one for each HTTP request, since nothing is stored between them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use kitbag_domain::sync::lock;
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

/// Severities in the order of syslog, as in `logging/setLevel`.
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

/// The result of `initialize`.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: RawObject,
    pub(crate) listener: ListenerId,
}

#[derive(Debug)]
pub(crate) struct ConnectedClient {
    /// For messages that belong to no request.
    pub(crate) general: Outbox,
    greeting: OnceLock<Handshake>,
    state: Mutex<ClientState>,
    roots_answered: watch::Sender<bool>,
    /// True once the server no longer answers this client.
    ignored: AtomicBool,
}

impl ConnectedClient {
    pub(crate) fn new(general: Outbox) -> Self {
        let state = ClientState {
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
            ignored: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_ignored(&self) -> bool {
        self.ignored.load(Ordering::SeqCst)
    }

    pub(crate) fn ignore(&self) {
        self.ignored.store(true, Ordering::SeqCst);
    }

    pub(crate) fn handshake(&self) -> Option<&Handshake> {
        self.greeting.get()
    }

    /// Returns false if the handshake was already done.
    pub(crate) fn greet(&self, greeting: Handshake) -> bool {
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
    /// The ids count from one, like those of most clients, to detect mixed-up directions.
    pub(crate) async fn ask(
        &self,
        outbox: &Outbox,
        method: &str,
        params: &Value,
    ) -> Result<Raw, ErrorObject> {
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut state = self.lock();
            let id = state.new_id();
            state.asked.insert(id.clone(), answer);
            id
        };
        outbox.send(Request::new(id, method, Some(raw(params))));
        answered.await.unwrap_or_else(|_| {
            let message = "the client disconnected without answering";
            Err(ErrorObject::new(code::INTERNAL_ERROR, message))
        })
    }

    pub(crate) fn resolve_question(&self, response: Response) {
        let Some(id) = response.id else {
            return;
        };
        let mut state = self.lock();
        if state.roots_asked.take_if(|asked| *asked == id).is_some() {
            let roots = response
                .outcome
                .map_or_else(|error| error.message, |roots| roots.get().to_owned());
            state.roots = Some(roots);
        } else if let Some(asked) = state.asked.remove(&id) {
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

    /// Asks for the roots; the answer is stored before the next message is read.
    pub(crate) fn ask_for_roots(&self) {
        let id = {
            let mut state = self.lock();
            let id = state.new_id();
            state.roots_asked = Some(id.clone());
            id
        };
        self.general
            .send(Request::new(id, method::LIST_ROOTS, None));
    }

    /// Returns the client's last answer about its roots.
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

    fn lock(&self) -> MutexGuard<'_, ClientState> {
        lock(&self.state)
    }
}

#[derive(Debug)]
struct ClientState {
    next_id: i64,
    log_level: Level,
    asked: HashMap<RequestId, oneshot::Sender<Result<Raw, ErrorObject>>>,
    running: HashMap<RequestId, CancellationToken>,
    roots: Option<String>,
    roots_asked: Option<RequestId>,
}

impl ClientState {
    fn new_id(&mut self) -> RequestId {
        let id = RequestId::Number(self.next_id);
        self.next_id += 1;
        id
    }
}
