//! One configured server over its whole life.
//!
//! # Layout
//! - this file: the facts about a server, calling it and asking for its lists
//! - [`silence`]: restarting it when it answers neither calls nor a ping
//! - [`start`]: starting it when needed, and leaving it alone for a while when it keeps failing
//! - [`stop`]: stopping it when it is idle, when it is replaced and when the gateway ends
//! - [`watched`]: the resources that clients watch

mod silence;
mod start;
mod stop;
mod watched;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwapOption;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, LaunchContext};
use crate::error::{CallError, StartError};
use crate::exchange::{ClientIdentity, InFlight, Outbound};
use crate::figures::{ServerCounters, ServerFigures};
use crate::listing::Listing;
use crate::log::ServerLog;
use crate::oauth::Credentials;
use crate::router::{Notice, NoticeKind};
use crate::slots::{CallSlot, CallSlots, NoSlot};
use crate::spec::ServerSpec;
use crate::upstreams::UpstreamContext;
use crate::watch::ResourceWatch;
use silence::SilenceChecks;
use start::StartAttempts;
use watched::WatchedResources;

pub struct Server {
    spec: Arc<ServerSpec>,
    log: Arc<ServerLog>,
    pub(crate) context: LaunchContext,
    notices: mpsc::Sender<Notice>,
    live: ArcSwapOption<LiveConnection>,
    attempts: StartAttempts,
    silence: SilenceChecks,
    closing: CancellationToken,
    /// The server that goes on after this one has stopped for good.
    successor: OnceLock<Arc<Self>>,
    /// Its lists when they were read last. Their era is the one to greet it in.
    listing: ArcSwapOption<Listing>,
    /// True if its lists were read since it was started, or are being read.
    listed: AtomicBool,
    /// Held while its lists are read.
    reading: tokio::sync::Mutex<()>,
    /// The time at which its lists were asked for first.
    first_asked: OnceLock<Instant>,
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

/// The lists of the program that runs.
#[derive(Debug)]
pub enum CurrentLists {
    Known(Arc<Listing>),
    /// They were read because of the caller that got them.
    ReadNow(Arc<Listing>),
}

/// The facts and channels that a server is made of.
pub(crate) struct ServerParts {
    pub(crate) spec: ServerSpec,
    /// Its lists of an earlier run.
    pub(crate) listing: Option<Listing>,
    pub(crate) log: ServerLog,
    pub(crate) notices: mpsc::Sender<Notice>,
}

/// Keeps a server from being stopped between the moment its connection is looked up and the moment
/// the connection shows that it is in use.
struct StopBlock<'a>(&'a Server);

impl Drop for StopBlock<'_> {
    fn drop(&mut self) {
        self.0.stop_blocks.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Server {
    /// Makes a server without starting it. `former` is the server of the same name that it replaces.
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
            listing: ArcSwapOption::from(parts.listing.map(Arc::new)),
            listed: AtomicBool::new(false),
            reading: tokio::sync::Mutex::default(),
            first_asked: OnceLock::new(),
            list_failure: ArcSwapOption::empty(),
            counters: ServerCounters::default(),
            last_used: Mutex::new(Instant::now()),
            stop_blocks: AtomicUsize::new(0),
            watched: former.map_or_else(WatchedResources::default, |former| {
                former.watched.inherited()
            }),
        });
        if let Some(former) = former {
            let _first = former.successor.set(server.clone());
        }
        server
    }

    pub fn name(&self) -> &ServerName {
        &self.spec.name
    }

    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Returns its lists as they were read last, perhaps in an earlier run.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full()
    }

    /// Returns the reason why its last start failed, or why a start would fail now for want of a
    /// variable.
    pub fn trouble(&self) -> Option<Arc<StartError>> {
        match self.attempts.last_error() {
            Some(failed) if !matches!(*failed, StartError::Variable { .. }) => Some(failed),
            _ if self.live().is_some() => None,
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

    /// Returns how busy it is, and how often it was started.
    pub fn figures(&self) -> ServerFigures {
        let in_flight = self.live().map(|live| live.connection.in_flight());
        self.counters.figures(in_flight)
    }

    /// Returns our login at it, if it is a server that we log in at.
    pub fn credentials(&self) -> Option<&Arc<Credentials>> {
        self.context.credentials.as_ref()
    }

    /// Sends a request, and starts the server first if it is not running. A request that comes when
    /// this server has just been replaced goes to its successor.
    pub async fn send(self: &Arc<Self>, outbound: &Outbound) -> Result<InFlight, CallError> {
        let sent = self.send_here(outbound).await;
        match (&sent, self.successor.get()) {
            (Err(CallError::Start(StartError::Stopping { .. })), Some(next)) => {
                Box::pin(next.send(outbound)).await
            }
            _ => sent,
        }
    }

    async fn send_here(self: &Arc<Self>, outbound: &Outbound) -> Result<InFlight, CallError> {
        let slot = self.slot(&outbound.client.identity).await?;
        let _block = self.block_stop();
        let live = self.started().await?;
        self.touch();
        let check = self.check_on_timeout(&live);
        Ok(live
            .connection
            .start(outbound)
            .holding(slot)
            .on_timeout(check))
    }

    async fn slot(&self, caller: &ClientIdentity) -> Result<CallSlot, CallError> {
        let _waiting = self.counters.wait();
        self.slots
            .take(caller)
            .await
            .map_err(|none| self.no_slot(none))
    }

    fn no_slot(&self, none: NoSlot) -> CallError {
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

    /// Reads all lists of the server. If one of them takes long, `early` is called as soon as the
    /// tools are known. A process that was started for this alone ends again.
    pub async fn list(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        self.first_asked.get_or_init(Instant::now);
        let listed = {
            // Held while it waits, too: the program is not stopped and started anew between two readings.
            let _block = self.block_stop();
            let _reading = self.reading.lock().await;
            self.read_lists(early).await
        };
        let failure = listed.as_ref().err().cloned().map(Arc::new);
        self.list_failure.store(failure);
        if self.spec.launch().is_some() {
            let server = self.clone();
            tokio::spawn(async move { server.stop_if_only_listed().await });
        }
        listed
    }

    /// Returns the time at which its lists were asked for first, if they were.
    pub fn first_asked(&self) -> Option<Instant> {
        self.first_asked.get().copied()
    }

    /// True while its lists are being read.
    pub fn is_being_asked(&self) -> bool {
        self.reading.try_lock().is_err()
    }

    /// Returns the reason why its lists could not be read the last time.
    pub fn list_failure(&self) -> Option<Arc<CallError>> {
        self.list_failure.load_full()
    }

    /// Returns the lists of the program that runs, and starts it if none does. Callers that come while
    /// they are read wait for them. It goes on running, because a call follows.
    pub async fn current_lists(self: &Arc<Self>) -> Result<CurrentLists, CallError> {
        let _block = self.block_stop();
        self.started().await?;
        let _reading = self.reading.lock().await;
        match self.listing().filter(|_| !self.is_stale()) {
            Some(listing) => Ok(CurrentLists::Known(listing)),
            None => self.read_lists(|_| {}).await.map(CurrentLists::ReadNow),
        }
    }

    /// Has its lists read again, as if it had announced that they changed: what it does shows that.
    pub fn doubt_lists(&self) {
        for kind in [NoticeKind::ToolsChanged, NoticeKind::PromptsChanged] {
            let server = self.name().clone();
            // A queue that is full has notices in it already.
            let _full = self.notices.try_send(Notice { server, kind });
        }
    }

    async fn read_lists(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        let _block = self.block_stop();
        let live = self.started().await?;
        self.touch();
        // Before they are read: if it is started anew meanwhile, they are those of a former run.
        self.listed.store(true, Ordering::Relaxed);
        let listing = live.connection.list(|first| early(&self.keep_tools(first)));
        let listing = Arc::new(listing.await.inspect_err(|_| self.forget_listed())?);
        self.listing.store(Some(listing.clone()));
        Ok(listing)
    }

    fn forget_listed(&self) {
        self.listed.store(false, Ordering::Relaxed);
    }

    /// Takes over a listing that another process has read from the same server.
    pub fn take_over_listing(&self, listing: Listing) {
        self.listing.store(Some(Arc::new(listing)));
    }

    /// Takes in the tools of a listing that is not complete yet, and keeps the other lists.
    fn keep_tools(&self, first: Listing) -> Arc<Listing> {
        let known = Arc::new(match self.listing() {
            Some(before) => Listing {
                tools: first.tools,
                ..(*before).clone()
            },
            None => first,
        });
        self.listing.store(Some(known.clone()));
        known
    }

    /// Returns the server's description of itself, without waiting for its lists.
    pub async fn introduction(self: &Arc<Self>) -> Result<Arc<Listing>, CallError> {
        let _block = self.block_stop();
        if let Some(listing) = self.listing() {
            return Ok(listing);
        }
        let live = self.started().await?;
        Ok(Arc::new(Listing::introduction(&live.connection.hello)))
    }

    /// True if its lists are from an earlier run.
    pub fn is_stale(&self) -> bool {
        !self.listed.load(Ordering::Relaxed)
    }

    /// True if clients watch its resources while it is not running and cannot announce updates.
    pub fn is_missed(&self) -> bool {
        self.live().is_none() && !self.watched.is_empty()
    }

    /// Takes note that the roots of a client have changed.
    pub(crate) fn roots_changed(&self, client: &ClientIdentity) {
        if let Some(live) = self.live() {
            live.connection.roots_changed(client);
        }
    }

    pub fn is_running(&self) -> bool {
        self.live().is_some()
    }

    fn live(&self) -> Option<Arc<LiveConnection>> {
        self.live
            .load_full()
            .filter(|live| live.connection.is_open())
    }

    fn block_stop(&self) -> StopBlock<'_> {
        self.stop_blocks.fetch_add(1, Ordering::SeqCst);
        StopBlock(self)
    }

    fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    fn stopping(&self) -> StartError {
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
