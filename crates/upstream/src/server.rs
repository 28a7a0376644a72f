//! One configured server over its whole life: started when needed, restarted after a crash,
//! left alone for a while when it keeps failing, stopped when nobody calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kitbag_domain::ServerName;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, Ground};
use crate::error::{CallError, StartError};
use crate::exchange::{Identity, InFlight, Outbound};
use crate::figures::{ServerFigures, Tally};
use crate::listing::Listing;
use crate::log::{ServerLog, in_one_line};
use crate::oauth::Credentials;
use crate::places::{NoPlace, Place, Places};
use crate::router::{Notice, NoticeKind};
use crate::spec::ServerSpec;
use crate::upstreams::Outside;
use crate::watch::Watch;
use kitbag_domain::sync::lock;

/// The first failure may be an accident; from the second on, each costs twice the wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub struct Server {
    spec: Arc<ServerSpec>,
    log: Arc<ServerLog>,
    pub(crate) ground: Ground,
    notices: mpsc::Sender<Notice>,
    live: ArcSwapOption<Live>,
    /// Held while starting, so that those who come meanwhile share the outcome.
    failures: tokio::sync::Mutex<Failures>,
    failed: ArcSwapOption<StartError>,
    closing: CancellationToken,
    /// Who goes on after this one has stopped for good.
    successor: OnceLock<Arc<Self>>,
    /// What it offered last; also tells which era to greet it in.
    listing: ArcSwapOption<Listing>,
    /// Whether it was asked what it offers since it was started.
    listed: AtomicBool,
    places: Places,
    tally: Tally,
    last_used: Mutex<Instant>,
    /// How many are about to use it or ask it something; see [`Claim`].
    claims: AtomicUsize,
    watched: Watched,
    /// Held while the server is told of a change in what is watched, because two changes told
    /// in the wrong order would leave a client without its updates.
    rewatching: tokio::sync::Mutex<()>,
}

/// Watched resources, each with how many clients watch it. A server that takes the place of
/// another shares them: whoever watched goes on, and lets go at either.
type Watched = Arc<Mutex<BTreeMap<String, usize>>>;

struct Live {
    connection: Arc<Connection>,
    watch: Watch,
}

/// Keeps a server from being stopped between the moment it is looked up and the moment that shows.
struct Claim<'a>(&'a Server);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.claims.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct Failures {
    count: u32,
    last: Option<Instant>,
}

impl Server {
    pub(crate) fn new(
        spec: ServerSpec,
        listing: Option<Listing>,
        log: ServerLog,
        outside: &Outside,
        notices: mpsc::Sender<Notice>,
        former: Option<&Self>,
    ) -> Arc<Self> {
        let credentials = outside
            .logins
            .as_ref()
            .and_then(|logins| Credentials::new(&spec, &outside.lookup, logins));
        let server = Arc::new(Self {
            places: Places::new(&spec.limits),
            spec: Arc::new(spec),
            log: Arc::new(log),
            ground: Ground {
                lookup: outside.lookup.clone(),
                credentials,
                inside: outside.inside.clone(),
                edition: outside.edition,
                wants_roots: Arc::default(),
            },
            notices,
            live: ArcSwapOption::empty(),
            failures: tokio::sync::Mutex::default(),
            failed: ArcSwapOption::empty(),
            closing: CancellationToken::new(),
            successor: OnceLock::new(),
            listing: ArcSwapOption::from(listing.map(Arc::new)),
            listed: AtomicBool::new(false),
            tally: Tally::default(),
            last_used: Mutex::new(Instant::now()),
            claims: AtomicUsize::new(0),
            watched: former
                .map(|former| former.watched.clone())
                .unwrap_or_default(),
            rewatching: tokio::sync::Mutex::default(),
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

    /// What the server offered when it was asked last, perhaps in an earlier run.
    pub fn listing(&self) -> Option<Arc<Listing>> {
        self.listing.load_full()
    }

    /// Why it could not be started when that was tried last, or could not be now for want of a
    /// variable.
    pub fn trouble(&self) -> Option<Arc<StartError>> {
        match self.failed.load_full() {
            Some(failed) if !matches!(*failed, StartError::Variable { .. }) => Some(failed),
            _ if self.live().is_some() => None,
            _ => self
                .spec
                .missing_variables(&self.ground.lookup)
                .into_iter()
                .next()
                .map(|source| {
                    let server = self.name().clone();
                    Arc::new(StartError::Variable { server, source })
                }),
        }
    }

    /// How busy it is, and how often it was started.
    pub fn figures(&self) -> ServerFigures {
        self.tally
            .figures(self.live().map(|live| live.connection.in_flight()))
    }

    /// Who we are to it, where that is a matter of logging in.
    pub fn credentials(&self) -> Option<&Arc<Credentials>> {
        self.ground.credentials.as_ref()
    }

    /// Sends a request, starting the server first if need be. One that comes when this server has
    /// just been replaced goes to the one that took its place.
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
        let place = self.place(&outbound.client.identity).await?;
        let _claim = self.claim();
        let live = self.started().await?;
        self.touch();
        Ok(live.connection.start(outbound).holding(place))
    }

    /// Asks the server for everything it offers. If some of that keeps us waiting, `early` is
    /// told when the tools are known. A process that was started for this alone ends again.
    pub async fn list(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        let listed = self.ask_for_lists(early).await;
        if self.spec.launch().is_some() {
            let server = self.clone();
            tokio::spawn(async move { server.stop_if_only_listed().await });
        }
        listed
    }

    async fn ask_for_lists(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        let _claim = self.claim();
        let live = self.started().await?;
        self.touch();
        self.listed.store(true, Ordering::Relaxed);
        let listing = live.connection.list(|first| {
            let known = match self.listing() {
                Some(before) => Listing {
                    tools: first.tools,
                    ..(*before).clone()
                },
                None => first,
            };
            let known = Arc::new(known);
            self.listing.store(Some(known.clone()));
            early(&known);
        });
        let listing = Arc::new(listing.await?);
        self.listing.store(Some(listing.clone()));
        Ok(listing)
    }

    /// What the server says of itself, without waiting for its lists.
    pub async fn introduction(self: &Arc<Self>) -> Result<Arc<Listing>, CallError> {
        let _claim = self.claim();
        match self.listing() {
            Some(listing) => Ok(listing),
            None => Ok(Arc::new(Listing::introduction(
                &self.started().await?.connection.hello,
            ))),
        }
    }

    /// Whether what we know of its offer is from an earlier run.
    pub fn is_stale(&self) -> bool {
        !self.listed.load(Ordering::Relaxed)
    }

    /// Whether somebody watches its resources while it is not running to tell of them.
    pub fn is_missed(&self) -> bool {
        self.live().is_none() && !self.watched().is_empty()
    }

    /// A client has said that its roots are others now.
    pub(crate) fn roots_changed(&self, client: &Identity) {
        if let Some(live) = self.live() {
            live.connection.roots_changed(client);
        }
    }

    pub fn is_running(&self) -> bool {
        self.live().is_some()
    }

    /// Whether it is being stopped for good.
    pub fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Watches a resource for one more client.
    pub async fn watch(self: &Arc<Self>, uri: &str) -> Result<(), CallError> {
        let _claim = self.claim();
        let live = self.started().await?;
        let _turn = self.rewatching.lock().await;
        let all = {
            let mut watched = self.watched();
            *watched.entry(uri.to_owned()).or_insert(0) += 1;
            watched.keys().cloned().collect()
        };
        let added = live.watch.add(uri, all).await;
        if added.is_err() {
            self.forget_watch(uri);
        }
        added
    }

    /// Undoes one [`watch`](Self::watch).
    pub async fn unwatch(&self, uri: &str) -> Result<(), CallError> {
        let _turn = self.rewatching.lock().await;
        let was_last = self.forget_watch(uri);
        match self.live() {
            Some(live) if was_last => live.watch.remove(uri, self.watched_uris()).await,
            _ => Ok(()),
        }
    }

    /// Lets the calls that are under way come to their end, then stops for good.
    pub async fn retire(&self) {
        self.places.close(self.spec.limits.call_deadline).await;
        self.shut().await;
    }

    /// Stops for good: nothing starts it again.
    pub(crate) async fn shut(&self) {
        self.closing.cancel();
        // A start under way sees that and gives up; only then is there nothing that could go live.
        let _no_start = self.failures.lock().await;
        self.stop().await;
    }

    /// Ends it and starts it again at once, as if it had never failed.
    pub async fn restart(self: &Arc<Self>) -> Result<(), StartError> {
        let mut failures = self.failures.lock().await;
        *failures = Failures::default();
        self.failed.store(None);
        self.stop().await;
        drop(failures);
        self.started().await.map(drop)
    }

    pub async fn stop(&self) {
        if let Some(live) = self.live.swap(None) {
            live.connection.close().await;
        }
    }

    pub(crate) async fn stop_if_idle(&self) {
        let idle = |_: &Connection| self.last_used().elapsed() >= self.spec.limits.idle_timeout;
        if self.stop_if(idle).await {
            tracing::info!(server = %self.name(), "stopped after a while without calls");
        }
    }

    async fn stop_if_only_listed(&self) {
        if self.stop_if(|connection| !connection.was_used()).await {
            tracing::debug!(server = %self.name(), "stopped after it was asked what it offers");
        }
    }

    /// Stops it if nothing is going on there and `wanted` says so. Tells whether it did.
    async fn stop_if(&self, wanted: impl Fn(&Connection) -> bool) -> bool {
        let unused = |live: &Live| {
            live.connection.in_flight() == 0
                && self.watched().is_empty()
                && wanted(&live.connection)
        };
        if !self.live().is_some_and(|live| unused(&live)) {
            return false;
        }
        // Nothing is started meanwhile, so that two processes of one server never run at once.
        let _no_start = self.failures.lock().await;
        let Some(live) = self.live.swap(None) else {
            return false;
        };
        // A claim is made before the connection is looked up. With none now, nobody has looked up
        // this connection without having finished; those that come later find none, and wait.
        if self.claims.load(Ordering::SeqCst) > 0 || !unused(&live) {
            self.live.store(Some(live));
            return false;
        }
        live.connection.close().await;
        true
    }

    fn claim(&self) -> Claim<'_> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        Claim(self)
    }

    fn live(&self) -> Option<Arc<Live>> {
        self.live
            .load_full()
            .filter(|live| live.connection.is_open())
    }

    async fn place(&self, caller: &Identity) -> Result<Place, CallError> {
        let server = || self.name().clone();
        let _waiting = self.tally.wait();
        self.places.take(caller).await.map_err(|none| match none {
            NoPlace::Full {
                running,
                queued,
                own,
            } => CallError::Busy {
                server: server(),
                running,
                queued,
                own,
            },
            NoPlace::Closed => StartError::Stopping { server: server() }.into(),
        })
    }

    async fn started(self: &Arc<Self>) -> Result<Arc<Live>, StartError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        // On a task of its own: a client that goes away must not abort a start that others,
        // or its own next call, will be glad of.
        let server = self.clone();
        let asked = Instant::now();
        let started = tokio::spawn(async move { server.start_once(asked).await }).await;
        started.unwrap_or_else(|_| {
            Err(StartError::Stopping {
                server: self.name().clone(),
            })
        })
    }

    async fn start_once(self: Arc<Self>, asked: Instant) -> Result<Arc<Live>, StartError> {
        let mut failures = self.failures.lock().await;
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let stopping = || StartError::Stopping {
            server: self.name().clone(),
        };
        if self.is_closing() {
            return Err(stopping());
        }
        if let (Some(last), Some(failed)) = (failures.last, self.failed.load_full()) {
            if last >= asked {
                return Err((*failed).clone());
            }
            if let Some(wait) = failures
                .wait()
                .checked_sub(last.elapsed())
                .filter(|wait| !wait.is_zero())
            {
                let (server, last) = (self.name().clone(), Box::new((*failed).clone()));
                return Err(StartError::BackingOff {
                    server,
                    failures: failures.count,
                    wait,
                    last,
                });
            }
        }
        let known = self.listing.load().as_ref().map(|listing| listing.era);
        let (spec, log, ground) = (self.spec.clone(), self.log.clone(), self.ground.clone());
        let opening = Connection::open(spec, known, log, ground, self.notices.clone());
        let opened = tokio::select! {
            opened = opening => opened,
            () = self.closing.cancelled() => return Err(stopping()),
        };
        match opened {
            Ok(connection) => {
                *failures = Failures::default();
                self.failed.store(None);
                Ok(self.go_live(connection).await)
            }
            Err(error) => {
                // The call after a login should not have to wait for anything.
                let waits = !matches!(error, StartError::Login(_));
                failures.count = if waits { failures.count + 1 } else { 0 };
                failures.last = Some(Instant::now());
                mention(self.name(), &error.to_string(), error.stderr());
                self.failed.store(Some(Arc::new(error.clone())));
                Err(error)
            }
        }
    }

    async fn go_live(&self, connection: Connection) -> Arc<Live> {
        if let Some(listing) = self.listing.load_full() {
            connection.learn(&mut (*listing).clone());
        }
        let connection = Arc::new(connection);
        let watch = Watch::begin(connection.clone(), self.watched_uris());
        watch.begun().await;
        let live = Arc::new(Live { connection, watch });
        self.listed.store(false, Ordering::Relaxed);
        // Whoever stops it takes it out; one that is still there has ended by itself.
        let before = self.live.swap(Some(live.clone()));
        self.tally.started(before.is_some());
        tokio::spawn(mention_end(
            self.name().clone(),
            live.connection.clone(),
            self.log.clone(),
        ));
        self.touch();
        let started = Notice {
            server: self.name().clone(),
            kind: NoticeKind::Started,
        };
        let _ = self.notices.send(started).await;
        tracing::info!(server = %self.name(), era = %live.connection.hello.era, "ready");
        live
    }

    fn forget_watch(&self, uri: &str) -> bool {
        let mut watched = self.watched();
        let Some(count) = watched.get_mut(uri) else {
            return false;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            watched.remove(uri);
        }
        last
    }

    fn watched_uris(&self) -> BTreeSet<String> {
        self.watched().keys().cloned().collect()
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        lock(&self.watched)
    }

    fn touch(&self) {
        *self.last_used() = Instant::now();
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        lock(&self.last_used)
    }
}

/// Says in the log why a server ended that was not asked to.
async fn mention_end(server: ServerName, connection: Arc<Connection>, log: Arc<ServerLog>) {
    if let Some(reason) = connection.ended().await {
        mention(
            &server,
            &format!("`{server}` went away: {reason}"),
            Some(&log.tail()),
        );
    }
}

fn mention(server: &ServerName, what: &str, words: Option<&str>) {
    let last_words = words.and_then(in_one_line);
    tracing::warn!(%server, last_words, "{what}");
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

impl Failures {
    fn wait(&self) -> Duration {
        match self.count {
            0 | 1 => Duration::ZERO,
            count => (FIRST_WAIT * 2u32.saturating_pow(count - 2)).min(LONGEST_WAIT),
        }
    }
}
