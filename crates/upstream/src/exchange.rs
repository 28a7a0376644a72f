//! One request in flight: the events before the answer, and the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kitbag_domain::{DefinitionKind, ServerName};
use kitbag_wire::meta::code;
use kitbag_wire::{ErrorObject, Raw, RawObject};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::call_clock::CallClock;
pub(crate) use crate::call_clock::CallTimeouts;
use crate::error::CallError;
use crate::listing::Listing;
use crate::slots::CallSlot;

/// A request to a server, on behalf of a client.
#[derive(Debug, Clone)]
pub struct OutboundRequest {
    pub method: String,
    /// The client's params, without the keys that concern only its own hop.
    pub params: RawObject,
    pub client: ClientProfile,
    /// The condition on the server's lists for sending the request.
    pub approval: Option<Approval>,
}

/// Returns true if a request may be sent to a server with these lists.
pub type AcceptsListing = Arc<dyn Fn(&Arc<Listing>) -> bool + Send + Sync>;

/// A check of a server's lists right before a request is sent to it.
#[derive(Clone)]
pub struct Approval {
    /// The list that is checked.
    pub list: DefinitionKind,
    /// A list older than this is read again first, even if the server announced no change.
    pub max_age: Duration,
    pub accepts: AcceptsListing,
}

impl std::fmt::Debug for Approval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approval")
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}

/// What the server may know about the client behind a request.
#[derive(Debug, Clone)]
pub struct ClientProfile {
    pub identity: ClientIdentity,
    pub capabilities: Raw,
    pub logs: RequestedLogs,
}

/// Identifies a client, so that a server's question without a request id never reaches another
/// client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The party the client belongs to. All clients of a party may read each other's messages.
    pub principal: Arc<str>,
    /// The client among the clients of the party.
    pub client: Arc<str>,
    /// The account whose share of the server's slots its calls use; clients with one key share it.
    pub account: Arc<str>,
    /// True if the party owns the gateway: no slot is kept free of its calls.
    pub is_owner: bool,
}

/// The server log lines that a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedLogs {
    None,
    /// The lines that the server sends by default, for a legacy client that never set a level.
    Unset,
    From(LogLevel),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

#[derive(Debug)]
pub enum CallEvent {
    /// `notifications/progress`, with the client's own token restored.
    Progress(Raw),
    /// `notifications/message`
    Log(Raw),
    /// Another notification that belongs to this request.
    Other {
        method: String,
        params: Option<Raw>,
    },
    Ask(ClientQuestion),
    Done(Result<Raw, CallError>),
}

/// A question that a legacy server asks the client: sampling, elicitation or roots.
///
/// If it is dropped, the server gets an error as the answer.
#[derive(Debug)]
pub struct ClientQuestion {
    pub method: String,
    pub params: Option<Raw>,
    /// Cancelled when the server withdraws the question.
    pub withdrawn: CancellationToken,
    reply: Option<oneshot::Sender<Result<Raw, ErrorObject>>>,
    _open: OpenAsk,
}

/// The handle of a running request. Dropping it before the end cancels the request at the server.
#[derive(Debug)]
pub struct InFlightCall {
    server: ServerName,
    events: mpsc::Receiver<CallEvent>,
    done: oneshot::Receiver<Result<Raw, CallError>>,
    clock: CallClock,
    asks: Arc<AtomicUsize>,
    awaits_client: Arc<AtomicBool>,
    unread_bytes: Arc<AtomicUsize>,
    cancel: Option<CancelOnDrop>,
    /// The slot of the call, released at the end.
    slot: Option<CallSlot>,
    on_timeout: Option<OnTimeout>,
    /// Runs after a timeout, and returns the error that the call ends with.
    checking: Option<JoinHandle<CallError>>,
}

/// Starts the check of a server that did not answer in time.
pub(crate) struct OnTimeout(Box<dyn FnOnce(CallError) -> JoinHandle<CallError> + Send + Sync>);

/// The sending side of [`InFlightCall`], held by the task that reads from the server.
#[derive(Debug)]
pub(crate) struct CallReporter {
    events: mpsc::Sender<CallEvent>,
    pub(crate) done: oneshot::Sender<Result<Raw, CallError>>,
    pub(crate) asks: Arc<AtomicUsize>,
    /// True while the call waits for its client's answer.
    pub(crate) awaits_client: Arc<AtomicBool>,
    /// The bytes of events that were not received yet.
    unread_bytes: Arc<AtomicUsize>,
}

impl CallReporter {
    /// Returns true if the event fits into the queue.
    pub(crate) fn send_event(&self, event: CallEvent) -> bool {
        let bytes = event.byte_size();
        let before = self.unread_bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before == 0 || before + bytes <= MAX_UNREAD_BYTES;
        let sent = fits && self.events.try_send(event).is_ok();
        if !sent {
            self.unread_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        sent
    }

    pub(crate) fn is_asking(&self) -> bool {
        self.asks.load(Ordering::Relaxed) > 0
    }
}

pub(crate) type Cancel = Box<dyn FnOnce() + Send + Sync>;

/// How many notifications a slow client may be behind; later ones are dropped, the answer never is.
const EVENT_BACKLOG: usize = 256;
/// How many bytes of notifications may be queued, unless it is a single one.
const MAX_UNREAD_BYTES: usize = 4 << 20;

impl InFlightCall {
    pub(crate) fn new(
        server: ServerName,
        timeouts: CallTimeouts,
        cancel: Cancel,
    ) -> (Self, CallReporter) {
        let (events_in, events) = mpsc::channel(EVENT_BACKLOG);
        let (done_in, done) = oneshot::channel();
        let (asks, awaits_client) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let unread_bytes = Arc::new(AtomicUsize::new(0));
        let handle = Self {
            server,
            events,
            done,
            clock: CallClock::new(timeouts),
            asks: asks.clone(),
            awaits_client: awaits_client.clone(),
            unread_bytes: unread_bytes.clone(),
            cancel: Some(CancelOnDrop(Some(cancel))),
            slot: None,
            on_timeout: None,
            checking: None,
        };
        (
            handle,
            CallReporter {
                events: events_in,
                done: done_in,
                asks,
                awaits_client,
                unread_bytes,
            },
        )
    }

    pub(crate) fn with_slot(mut self, slot: CallSlot) -> Self {
        self.slot = Some(slot);
        self
    }

    pub(crate) fn on_timeout(mut self, check: OnTimeout) -> Self {
        self.on_timeout = Some(check);
        self
    }

    /// Releases its slot, because it waits for a user who may never answer.
    pub fn release_slot(&mut self) {
        self.awaits_client.store(true, Ordering::Relaxed);
        self.slot = None;
    }

    /// Records that its client answered.
    pub fn mark_client_returned(&mut self) {
        self.awaits_client.store(false, Ordering::Relaxed);
    }

    /// Returns the next event. After [`CallEvent::Done`] there are no more.
    pub async fn next(&mut self) -> CallEvent {
        loop {
            if let Some(checking) = &mut self.checking {
                let error = checking.await;
                self.checking = None;
                return CallEvent::Done(Err(error.unwrap_or_else(|_| self.lost_error())));
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    self.clock.restart();
                    return self.count_read(event);
                }
                done = &mut self.done => {
                    let done = done.unwrap_or_else(|_| Err(self.lost_error()));
                    return self.finish(done);
                }
                () = self.clock.wait_for_timeout() => {
                    if self.asks.load(Ordering::Relaxed) > 0 {
                        // The server waits for the user; that is not silence.
                        self.clock.extend();
                    } else if let Some(done) = self.time_out() {
                        return done;
                    }
                }
            }
        }
    }

    /// Returns the answer, unless an earlier event is still queued.
    fn finish(&mut self, done: Result<Raw, CallError>) -> CallEvent {
        if let Ok(event) = self.events.try_recv() {
            let (again, done_again) = oneshot::channel();
            let _ = again.send(done);
            self.done = done_again;
            return self.count_read(event);
        }
        if let Some(mut cancel) = self.cancel.take() {
            cancel.0 = None;
        }
        CallEvent::Done(done)
    }

    /// Ends the call after a timeout. Returns its last event, unless the server is checked first.
    fn time_out(&mut self) -> Option<CallEvent> {
        // Dropping it sends the cancellation to the server.
        self.cancel = None;
        let error = CallError::TimedOut {
            server: self.server.clone(),
            after: self.clock.timeouts.silence,
        };
        match self.on_timeout.take() {
            Some(OnTimeout(check)) => {
                self.checking = Some(check(error));
                None
            }
            None => Some(CallEvent::Done(Err(error))),
        }
    }

    /// Waits only for the answer, for requests of the gateway itself.
    pub(crate) async fn wait_for_answer(mut self) -> Result<Raw, CallError> {
        loop {
            if let CallEvent::Done(done) = self.next().await {
                return done;
            }
        }
    }

    fn count_read(&self, event: CallEvent) -> CallEvent {
        self.unread_bytes
            .fetch_sub(event.byte_size(), Ordering::Relaxed);
        event
    }

    fn lost_error(&self) -> CallError {
        CallError::for_lost_connection(&self.server, "the connection closed")
    }
}

impl CallEvent {
    fn byte_size(&self) -> usize {
        let (method, params) = match self {
            Self::Progress(params) | Self::Log(params) => ("", Some(params)),
            Self::Other { method, params } => (method.as_str(), params.as_ref()),
            Self::Ask(ask) => (ask.method.as_str(), ask.params.as_ref()),
            Self::Done(_) => return 0,
        };
        method.len() + params.map_or(0, |params| params.get().len())
    }
}

impl ClientQuestion {
    pub(crate) fn new(
        method: String,
        params: Option<Raw>,
        asks: &Arc<AtomicUsize>,
        withdrawn: CancellationToken,
    ) -> (Self, oneshot::Receiver<Result<Raw, ErrorObject>>) {
        let (reply, answer) = oneshot::channel();
        let open = OpenAsk::new(asks);
        (
            Self {
                method,
                params,
                withdrawn,
                reply: Some(reply),
                _open: open,
            },
            answer,
        )
    }

    pub fn answer(mut self, answer: Result<Raw, ErrorObject>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(answer);
        }
    }
}

impl Drop for ClientQuestion {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            let gone = ErrorObject::new(
                code::INTERNAL_ERROR,
                "the client disconnected without answering",
            );
            let _ = reply.send(Err(gone));
        }
    }
}

impl RequestedLogs {
    /// Returns the log level to request from a modern server.
    pub(crate) fn requested_level(self) -> Option<LogLevel> {
        match self {
            Self::None => None,
            // The level of the messages that a legacy server sends by default.
            Self::Unset => Some(LogLevel::Info),
            Self::From(level) => Some(level),
        }
    }
}

impl LogLevel {
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }
}

#[derive(Debug)]
struct OpenAsk(Arc<AtomicUsize>);

impl OpenAsk {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for OpenAsk {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct CancelOnDrop(Option<Cancel>);

impl OnTimeout {
    pub(crate) fn new(
        check: impl FnOnce(CallError) -> JoinHandle<CallError> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(check))
    }
}

impl std::fmt::Debug for OnTimeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnTimeout")
    }
}

impl std::fmt::Debug for CancelOnDrop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CancelOnDrop")
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = self.0.take() {
            cancel();
        }
    }
}
