//! One request on its way: what the server says before it answers, and the answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kitbag_domain::ServerName;
use kitbag_wire::meta::code;
use kitbag_wire::{ErrorObject, Raw, RawObject};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::CallError;
use crate::places::Place;

/// A request to a server, on behalf of a client.
#[derive(Debug, Clone)]
pub struct Outbound {
    pub method: String,
    /// As the client sent them, with the keys that concern only its own hop taken out.
    pub params: RawObject,
    pub client: ClientFace,
}

/// What a server may know of the client behind a request.
#[derive(Debug, Clone)]
pub struct ClientFace {
    pub identity: Identity,
    pub capabilities: Raw,
    pub logs: Logs,
}

/// Tells one client from another, so that a question a server asks without saying on which
/// behalf is never put to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The party whose client it is. A message that one of its clients may read, all may.
    pub principal: Arc<str>,
    /// Which of that party's clients.
    pub client: Arc<str>,
    /// Whose share of a server's places its calls take; clients with the same key share one.
    pub account: Arc<str>,
    /// Whether that party is the person whose gateway this is: nothing is kept free of their calls.
    pub is_owner: bool,
}

/// Which log lines of a server a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logs {
    None,
    /// What the server sends by itself: a legacy client that never set a level.
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
pub enum Event {
    /// `notifications/progress`, with the client's own token put back.
    Progress(Raw),
    /// `notifications/message`
    Log(Raw),
    /// Some other notification that belongs to this request.
    Other {
        method: String,
        params: Option<Raw>,
    },
    Ask(Ask),
    Done(Result<Raw, CallError>),
}

/// A question a legacy server puts to the client: sampling, elicitation or roots.
///
/// Dropping it unanswered tells the server so.
#[derive(Debug)]
pub struct Ask {
    pub method: String,
    pub params: Option<Raw>,
    /// Fires when the server no longer wants to know.
    pub withdrawn: CancellationToken,
    reply: Option<oneshot::Sender<Result<Raw, ErrorObject>>>,
    _open: OpenAsk,
}

/// The handle on a running request. Dropping it before the end cancels the request upstream.
#[derive(Debug)]
pub struct InFlight {
    server: ServerName,
    events: mpsc::Receiver<Event>,
    done: oneshot::Receiver<Result<Raw, CallError>>,
    clock: Clock,
    asks: Arc<AtomicUsize>,
    aside: Arc<AtomicBool>,
    unheard: Arc<AtomicUsize>,
    cancel: Option<CancelOnDrop>,
    /// A place among the calls a server may have at once, given back at the end.
    place: Option<Place>,
}

/// The receiving half's counterpart, held by whoever reads from the server.
#[derive(Debug)]
pub(crate) struct Progressing {
    events: mpsc::Sender<Event>,
    pub(crate) done: oneshot::Sender<Result<Raw, CallError>>,
    pub(crate) asks: Arc<AtomicUsize>,
    /// Nobody follows the call right now: its client has yet to come back with an answer.
    pub(crate) aside: Arc<AtomicBool>,
    /// Bytes of events that were not yet taken in.
    unheard: Arc<AtomicUsize>,
}

impl Progressing {
    /// Whether the event found room.
    pub(crate) fn tell(&self, event: Event) -> bool {
        let bytes = event.bytes();
        let before = self.unheard.fetch_add(bytes, Ordering::Relaxed);
        let fits = before == 0 || before + bytes <= UNHEARD_BYTES;
        let told = fits && self.events.try_send(event).is_ok();
        if !told {
            self.unheard.fetch_sub(bytes, Ordering::Relaxed);
        }
        told
    }
}

pub(crate) type Cancel = Box<dyn FnOnce() + Send + Sync>;

/// Notifications a slow client may be behind by; later ones are dropped, the answer never is.
const EVENT_BACKLOG: usize = 256;
/// What those may come to in bytes, unless it is a single one.
const UNHEARD_BYTES: usize = 4 << 20;

impl InFlight {
    pub(crate) fn new(
        server: ServerName,
        patience: Patience,
        cancel: Cancel,
    ) -> (Self, Progressing) {
        let (events_in, events) = mpsc::channel(EVENT_BACKLOG);
        let (done_in, done) = oneshot::channel();
        let (asks, aside) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let unheard = Arc::new(AtomicUsize::new(0));
        let handle = Self {
            server,
            events,
            done,
            clock: Clock::new(patience),
            asks: asks.clone(),
            aside: aside.clone(),
            unheard: unheard.clone(),
            cancel: Some(CancelOnDrop(Some(cancel))),
            place: None,
        };
        (
            handle,
            Progressing {
                events: events_in,
                done: done_in,
                asks,
                aside,
                unheard,
            },
        )
    }

    pub(crate) fn holding(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Gives back its place among the running calls, because it waits for a person, who may
    /// never come back.
    pub fn step_aside(&mut self) {
        self.aside.store(true, Ordering::Relaxed);
        self.place = None;
    }

    /// Its client has come back.
    pub fn step_in(&mut self) {
        self.aside.store(false, Ordering::Relaxed);
    }

    /// The next thing the server says. After [`Event::Done`] there is nothing more to ask for.
    pub async fn next(&mut self) -> Event {
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    self.clock.restart();
                    return self.heard(event);
                }
                done = &mut self.done => {
                    // What was said before the answer is still heard before it.
                    if let Ok(event) = self.events.try_recv() {
                        let (again, done_again) = oneshot::channel();
                        let _ = again.send(done.unwrap_or_else(|_| Err(self.lost())));
                        self.done = done_again;
                        return self.heard(event);
                    }
                    self.finish();
                    return Event::Done(done.unwrap_or_else(|_| Err(self.lost())));
                }
                () = self.clock.ran_out() => {
                    if self.asks.load(Ordering::Relaxed) > 0 {
                        // The server waits for a person; that is not silence.
                        self.clock.extend();
                        continue;
                    }
                    let after = self.clock.patience.silence;
                    self.cancel = None;
                    return Event::Done(Err(CallError::TimedOut { server: self.server.clone(), after }));
                }
            }
        }
    }

    /// Waits for the answer alone, for requests of our own that no client stands behind.
    pub(crate) async fn answer(mut self) -> Result<Raw, CallError> {
        loop {
            if let Event::Done(done) = self.next().await {
                return done;
            }
        }
    }

    fn heard(&self, event: Event) -> Event {
        self.unheard.fetch_sub(event.bytes(), Ordering::Relaxed);
        event
    }

    fn finish(&mut self) {
        if let Some(mut cancel) = self.cancel.take() {
            cancel.0 = None;
        }
    }

    fn lost(&self) -> CallError {
        CallError::lost(&self.server, "the connection closed")
    }
}

impl Event {
    fn bytes(&self) -> usize {
        let length = |params: &Option<Raw>| params.as_ref().map_or(0, |params| params.get().len());
        match self {
            Self::Progress(params) | Self::Log(params) => params.get().len(),
            Self::Other { method, params } => method.len() + length(params),
            Self::Ask(ask) => ask.method.len() + length(&ask.params),
            Self::Done(_) => 0,
        }
    }
}

impl Ask {
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

impl Drop for Ask {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            let gone = ErrorObject::new(
                code::INTERNAL_ERROR,
                "the client went away without an answer",
            );
            let _ = reply.send(Err(gone));
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

/// How long a silent server is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) silence: Duration,
    pub(crate) total: Duration,
}

impl Patience {
    /// For requests that are meant to stay open, such as a subscription.
    pub(crate) const ENDLESS: Self = Self {
        silence: Duration::from_secs(u32::MAX as u64),
        total: Duration::from_secs(u32::MAX as u64),
    };

    pub(crate) fn of(silence: Duration) -> Self {
        Self {
            silence,
            total: silence,
        }
    }
}

#[derive(Debug)]
struct Clock {
    patience: Patience,
    end: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    fn new(patience: Patience) -> Self {
        Self {
            patience,
            end: Instant::now() + patience.total,
            sleep: None,
        }
    }

    fn restart(&mut self) {
        self.sleep = None;
    }

    fn extend(&mut self) {
        self.end = self.end.max(Instant::now() + self.patience.silence);
        self.restart();
    }

    async fn ran_out(&mut self) {
        let until = (Instant::now() + self.patience.silence).min(self.end);
        self.sleep
            .get_or_insert_with(|| Box::pin(sleep_until(until)))
            .await;
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
