//! One configured server over its whole lifetime.
//!
//! # Layout
//! - this file: state, calls and listing of a server
//! - [`unresponsive`]: restart when it answers neither calls nor a ping
//! - [`start`]: start on demand, and back-off after failures
//! - [`stop`]: stop when idle, replaced or at shutdown
//! - [`lists`]: its lists, and their check before a call
//! - [`secrets`]: its secrets
//! - [`watched_resources`]: resources that clients watch

mod lists;
mod secrets;
mod start;
mod stop;
mod unresponsive;
mod watched_resources;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwapOption;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, LaunchContext};
use crate::error::{CallError, StartError};
use crate::exchange::{ClientIdentity, InFlightCall, OutboundRequest};
use crate::listing::Listing;
use crate::log::ServerLog;
use crate::oauth::Credentials;
use crate::router::Notice;
use crate::server_figures::{ServerCounters, ServerFigures};
use crate::slots::{CallSlot, CallSlots, NoSlot};
use crate::spec::ServerSpec;
use crate::upstreams::UpstreamContext;
use crate::watch::ResourceWatch;
use secrets::KnownSecrets;
use start::StartAttempts;
use unresponsive::SilenceChecks;
use watched_resources::WatchedResources;

pub use secrets::FindSecrets;

pub struct Server {
    spec: Arc<ServerSpec>,
    log: Arc<ServerLog>,
    pub(crate) context: LaunchContext,
    notices: mpsc::Sender<Notice>,
    live: ArcSwapOption<LiveConnection>,
    attempts: StartAttempts,
    silence: SilenceChecks,
    closing: CancellationToken,
    /// The server that takes over after this one has stopped for good.
    successor: OnceLock<Arc<Self>>,
    /// Its lists as last read. Their era is tried first.
    listing: ArcSwapOption<Listing>,
    /// Held while all of its lists are read.
    reading: tokio::sync::Mutex<()>,
    /// Held while one list is read for a call.
    checking: tokio::sync::Mutex<()>,
    /// Held while known lists are replaced.
    replacing: Mutex<()>,
    secrets: KnownSecrets,
    /// When its lists were first requested.
    first_requested: OnceLock<Instant>,
    /// The reason why its lists could not be read the last time.
    list_failure: ArcSwapOption<CallError>,
    slots: CallSlots,
    counters: ServerCounters,
    last_used: Mutex<Instant>,
    /// The number of callers that are about to use it; see [`StopBlock`].
    stop_blocks: AtomicUsize,
    watched: WatchedResources,
}

struct LiveConnection {
    connection: Arc<Connection>,
    watch: ResourceWatch,
}

/// The facts and channels that a server is made of.
pub(crate) struct ServerParts {
    pub(crate) spec: ServerSpec,
    /// Its lists of an earlier run.
    pub(crate) listing: Option<Listing>,
    pub(crate) log: ServerLog,
    pub(crate) notices: mpsc::Sender<Notice>,
}

/// Keeps a server from being stopped between the lookup of its connection and the first visible use
/// of it.
struct StopBlock<'a>(&'a Server);

impl Drop for StopBlock<'_> {
    fn drop(&mut self) {
        self.0.stop_blocks.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Server {
    /// Creates a server without starting it. `former` is the server of the same name that it
    /// replaces.
    pub(crate) fn new(
        parts: ServerParts,
        context: &UpstreamContext,
        former: Option<&Self>,
    ) -> Arc<Self> {
        let server = Arc::new(Self {
            slots: CallSlots::new(&parts.spec.limits),
            context: context.for_server(&parts.spec),
            spec: Arc::new(parts.spec),
            log: Arc::new(parts.log),
            notices: parts.notices,
            live: ArcSwapOption::empty(),
            attempts: StartAttempts::default(),
            silence: SilenceChecks::default(),
            closing: CancellationToken::new(),
            successor: OnceLock::new(),
            listing: ArcSwapOption::empty(),
            reading: tokio::sync::Mutex::default(),
            checking: tokio::sync::Mutex::default(),
            replacing: Mutex::default(),
            secrets: KnownSecrets::default(),
            first_requested: OnceLock::new(),
            list_failure: ArcSwapOption::empty(),
            counters: ServerCounters::default(),
            last_used: Mutex::new(Instant::now()),
            stop_blocks: AtomicUsize::new(0),
            watched: former.map_or_else(WatchedResources::default, |former| former.watched.share()),
        });
        if let Some(former) = former {
            let _first = former.successor.set(server.clone());
        }
        let known = parts
            .listing
            .map(|listing| Arc::new(server.mask_listing(listing)));
        server.listing.store(known);
        server
    }

    pub fn name(&self) -> &ServerName {
        &self.spec.name
    }

    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Returns its lists as last read, perhaps in an earlier run.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full()
    }

    /// Returns the reason why its last start failed, or the missing variable that would make a
    /// start fail now.
    pub fn start_problem(&self) -> Option<Arc<StartError>> {
        match self.attempts.last_error() {
            Some(failed) if !matches!(*failed, StartError::Variable { .. }) => Some(failed),
            _ if self.live_connection().is_some() => None,
            _ => self.missing_variable().map(Arc::new),
        }
    }

    fn missing_variable(&self) -> Option<StartError> {
        let mut missing = self
            .spec
            .missing_variables(&self.context.lookup)
            .into_iter();
        missing.next().map(|source| StartError::Variable {
            server: self.name().clone(),
            source,
        })
    }

    /// Returns its load, and how often it was started.
    pub fn figures(&self) -> ServerFigures {
        let in_flight = self
            .live_connection()
            .map(|live| live.connection.in_flight());
        self.counters.snapshot(in_flight)
    }

    /// Returns Kitbag's login at it, if it supports logins.
    pub fn credentials(&self) -> Option<&Arc<Credentials>> {
        self.context.credentials.as_ref()
    }

    /// Sends a request, and starts the server first if it is not running. A request that arrives
    /// when this server has just been replaced goes to its successor.
    pub async fn send(
        self: &Arc<Self>,
        outbound: &OutboundRequest,
    ) -> Result<InFlightCall, CallError> {
        let sent = self.send_here(outbound).await;
        match (&sent, self.successor.get()) {
            (Err(CallError::Start(StartError::Stopping { .. })), Some(next)) => {
                Box::pin(next.send(outbound)).await
            }
            _ => sent,
        }
    }

    async fn send_here(
        self: &Arc<Self>,
        outbound: &OutboundRequest,
    ) -> Result<InFlightCall, CallError> {
        let slot = self.acquire_slot(&outbound.client.identity).await?;
        let _block = self.block_stop();
        let live = match &outbound.approval {
            Some(approval) => self.approved_connection(approval).await?,
            None => self.start_or_restart().await?,
        };
        self.record_use();
        let check = self.check_on_timeout(&live);
        Ok(live
            .connection
            .start(outbound)
            .with_slot(slot)
            .on_timeout(check))
    }

    async fn acquire_slot(&self, caller: &ClientIdentity) -> Result<CallSlot, CallError> {
        let _waiting = self.counters.count_waiting();
        self.slots
            .acquire(caller)
            .await
            .map_err(|none| self.no_slot_error(none))
    }

    fn no_slot_error(&self, none: NoSlot) -> CallError {
        let server = self.name().clone();
        match none {
            NoSlot::Full {
                running,
                queued,
                own,
            } => CallError::Busy {
                server,
                running,
                queued,
                own,
            },
            NoSlot::Closed => StartError::Stopping { server }.into(),
        }
    }

    /// Returns the server's description of itself, without waiting for its lists.
    pub async fn describe_itself(self: &Arc<Self>) -> Result<Arc<Listing>, CallError> {
        let _block = self.block_stop();
        if let Some(listing) = self.listing() {
            return Ok(listing);
        }
        let live = self.start_or_restart().await?;
        let introduction = Listing::from_hello(&live.connection.hello);
        Ok(Arc::new(self.mask_listing(introduction)))
    }

    /// True if clients watch its resources, but it is not running to announce updates.
    pub fn is_watched_while_stopped(&self) -> bool {
        self.live_connection().is_none() && !self.watched.is_empty()
    }

    /// Records that the roots of a client have changed.
    pub(crate) fn roots_changed(&self, client: &ClientIdentity) {
        if let Some(live) = self.live_connection() {
            live.connection.roots_changed(client);
        }
    }

    pub fn is_running(&self) -> bool {
        self.live_connection().is_some()
    }

    fn live_connection(&self) -> Option<Arc<LiveConnection>> {
        self.live
            .load_full()
            .filter(|live| live.connection.is_open())
    }

    fn block_stop(&self) -> StopBlock<'_> {
        self.stop_blocks.fetch_add(1, Ordering::SeqCst);
        StopBlock(self)
    }

    fn record_use(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    fn stopping_error(&self) -> StartError {
        StartError::Stopping {
            server: self.name().clone(),
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
