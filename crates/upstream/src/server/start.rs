//! Starting a server when it is needed, and leaving it alone for a while when it keeps failing.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kitbag_domain::ServerName;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::{LiveConnection, Server};
use crate::connection::Connection;
use crate::error::StartError;
use crate::log::{ServerLog, in_one_line};
use crate::router::{Notice, NoticeKind};
use crate::watch::ResourceWatch;

/// The first failure may be an accident; from the second on, each costs twice the wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// A server that was repaired is usable again after a minute at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct StartAttempts {
    /// Held while starting, so that callers that come meanwhile share the outcome.
    failures: Mutex<Failures>,
    last_error: ArcSwapOption<StartError>,
}

/// The failed starts since the last success.
#[derive(Default)]
pub(super) struct Failures {
    count: u32,
    last: Option<Instant>,
    /// The times in a row that it started, and then answered no call.
    deaf: u32,
}

impl StartAttempts {
    pub(super) fn last_error(&self) -> Option<Arc<StartError>> {
        self.last_error.load_full()
    }

    /// Waits for a start under way. Nothing is started while the guard is held.
    pub(super) async fn pause(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().await
    }

    pub(super) fn forget(&self, failures: &mut Failures) {
        *failures = Failures::default();
        self.last_error.store(None);
    }

    /// Remembers a failed start. Returns true if it is news.
    fn note(&self, failures: &mut Failures, error: &StartError) -> bool {
        // A start that waits for a person, or for the time that the server named, has not failed: the
        // next call should not have to wait for anything else.
        let counts = !error.is_mistake()
            && !matches!(error, StartError::Login(_) | StartError::HeldOff { .. });
        failures.count = if counts { failures.count + 1 } else { 0 };
        failures.last = Some(Instant::now());
        let before = self.last_error.swap(Some(Arc::new(error.clone())));
        counts || before.is_none_or(|before| !error.repeats(&before))
    }

    /// Remembers that the server answered no call. The first time it may be started again at once.
    pub(super) fn note_deaf(&self, failures: &mut Failures, answered: bool, server: &ServerName) {
        let server = server.clone();
        failures.deaf = if answered { 1 } else { failures.deaf + 1 };
        failures.count = failures.deaf;
        failures.last = (failures.deaf > 1).then(Instant::now);
        let error = StartError::Deaf { server };
        self.last_error.store(Some(Arc::new(error)));
    }

    fn succeeded(&self, failures: &mut Failures) {
        let deaf = failures.deaf;
        self.forget(failures);
        failures.deaf = deaf;
    }

    /// Returns the error for a caller that asked at that time, if another start would be too early:
    /// the outcome of a start that the caller waited for, or the wait that is left.
    fn refusal(
        &self,
        server: &ServerName,
        failures: &Failures,
        asked: Instant,
    ) -> Option<StartError> {
        let (last, failed) = (failures.last?, self.last_error()?);
        if last >= asked {
            return Some((*failed).clone());
        }
        let wait = failures.wait().checked_sub(last.elapsed())?;
        (!wait.is_zero()).then(|| StartError::BackingOff {
            server: server.clone(),
            failures: failures.count,
            wait,
            last: Box::new((*failed).clone()),
        })
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

impl Server {
    pub(super) async fn started(self: &Arc<Self>) -> Result<Arc<LiveConnection>, StartError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        // On a task of its own: a client that goes away must not abort a start that other calls,
        // or its own next call, can use.
        let server = self.clone();
        let asked = Instant::now();
        let started = tokio::spawn(async move { server.start_once(asked).await }).await;
        started.unwrap_or_else(|_| Err(self.stopping()))
    }

    async fn start_once(&self, asked: Instant) -> Result<Arc<LiveConnection>, StartError> {
        let mut failures = self.attempts.pause().await;
        if let Some(live) = self.live() {
            return Ok(live);
        }
        if self.is_closing() {
            return Err(self.stopping());
        }
        if let Some(refusal) = self.attempts.refusal(self.name(), &failures, asked) {
            return Err(refusal);
        }
        match self.open().await? {
            Ok(connection) => {
                self.attempts.succeeded(&mut failures);
                Ok(self.go_live(connection).await)
            }
            Err(error) => {
                if self.attempts.note(&mut failures, &error) {
                    log_failure(self.name(), &error.to_string(), error.stderr());
                }
                Err(error)
            }
        }
    }

    /// Opens a connection. The outer error is for a server that is stopped meanwhile.
    async fn open(&self) -> Result<Result<Connection, StartError>, StartError> {
        let known = self.listing.load().as_ref().map(|listing| listing.era);
        let opening = Connection::open(
            self.spec.clone(),
            known,
            self.log.clone(),
            self.context.clone(),
            self.notices.clone(),
        );
        tokio::select! {
            opened = opening => Ok(opened),
            () = self.closing.cancelled() => Err(self.stopping()),
        }
    }

    async fn go_live(&self, connection: Connection) -> Arc<LiveConnection> {
        if let Some(listing) = self.listing.load_full() {
            connection.learn(&mut (*listing).clone());
        }
        let connection = Arc::new(connection);
        let watch = ResourceWatch::begin(connection.clone(), self.watched.uris());
        watch.begun().await;
        let live = Arc::new(LiveConnection { connection, watch });
        // The program may be another one than the one whose lists are known.
        self.context.ages.doubt_all();
        // It goes on with these secrets, whatever is set in their place later.
        self.secrets();
        // A server that is stopped is taken out first; one that is still here has ended by itself.
        let before = self.live.swap(Some(live.clone()));
        self.counters.started(before.is_some());
        self.touch();
        self.announce_start(&live.connection).await;
        live
    }

    async fn announce_start(&self, connection: &Arc<Connection>) {
        let server = self.name().clone();
        tokio::spawn(log_end(
            server.clone(),
            connection.clone(),
            self.log.clone(),
        ));
        let kind = NoticeKind::Started;
        let _ = self.notices.send(Notice { server, kind }).await;
        tracing::info!(server = %self.name(), era = %connection.hello.era, "ready");
    }
}

/// Writes into the log why a server ended that was not asked to.
async fn log_end(server: ServerName, connection: Arc<Connection>, log: Arc<ServerLog>) {
    if let Some(reason) = connection.ended().await {
        let what = format!("`{server}` went away: {reason}");
        log_failure(&server, &what, Some(&log.tail()));
    }
}

fn log_failure(server: &ServerName, what: &str, words: Option<&str>) {
    let last_words = words.and_then(in_one_line);
    tracing::warn!(%server, last_words, "{what}");
}
