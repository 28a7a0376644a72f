//! Starts a server on demand, and restarts a crashed one, with back-off after failures.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use kitbag_domain::ServerName;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::{LiveConnection, Server};
use crate::connection::Connection;
use crate::error::StartError;
use crate::log::{ServerLog, to_log_line};
use crate::router::{Notice, NoticeKind};
use crate::watch::ResourceWatch;

/// The first failure may be an accident; from the second on, each doubles the wait.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// A repaired server is usable again after a minute at the latest.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct StartAttempts {
    /// Held while starting, so that concurrent callers share the outcome.
    failures: Mutex<Failures>,
    last_error: ArcSwapOption<StartError>,
}

/// The failed starts since the last success.
#[derive(Default)]
pub(super) struct Failures {
    count: u32,
    last: Option<Instant>,
    /// Consecutive starts after which it answered no call.
    unresponsive: u32,
}

impl StartAttempts {
    pub(super) fn last_error(&self) -> Option<Arc<StartError>> {
        self.last_error.load_full()
    }

    /// Waits for a start in progress. Nothing is started while the guard is held.
    pub(super) async fn lock_starts(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().await
    }

    pub(super) fn reset_failures(&self, failures: &mut Failures) {
        *failures = Failures::default();
        self.last_error.store(None);
    }

    /// Records a failed start. Returns true if it is news.
    fn record_failure(&self, failures: &mut Failures, error: &StartError) -> bool {
        // A start that waits for a user, or for the time that the server requested, has not failed:
        // the next call should not have to wait for anything else.
        let counts = !error.is_mistake()
            && !matches!(error, StartError::Login(_) | StartError::RetryLater { .. });
        failures.count = if counts { failures.count + 1 } else { 0 };
        failures.last = Some(Instant::now());
        let before = self.last_error.swap(Some(Arc::new(error.clone())));
        counts || before.is_none_or(|before| !error.is_repeat_of(&before))
    }

    /// Records that the server answered no call. The first time it may be restarted at once.
    pub(super) fn record_unresponsive(
        &self,
        failures: &mut Failures,
        answered: bool,
        server: &ServerName,
    ) {
        let server = server.clone();
        failures.unresponsive = if answered {
            1
        } else {
            failures.unresponsive + 1
        };
        failures.count = failures.unresponsive;
        failures.last = (failures.unresponsive > 1).then(Instant::now);
        let error = StartError::Unresponsive { server };
        self.last_error.store(Some(Arc::new(error)));
    }

    fn record_success(&self, failures: &mut Failures) {
        let unresponsive = failures.unresponsive;
        self.reset_failures(failures);
        failures.unresponsive = unresponsive;
    }

    /// Returns the error for a caller that asked at that time, if another start would be too early:
    /// the outcome of a start that the caller waited for, or the remaining wait.
    fn too_early_error(
        &self,
        server: &ServerName,
        failures: &Failures,
        asked: Instant,
    ) -> Option<StartError> {
        let (last, failed) = (failures.last?, self.last_error()?);
        if last >= asked {
            return Some((*failed).clone());
        }
        let wait = failures.backoff().checked_sub(last.elapsed())?;
        (!wait.is_zero()).then(|| StartError::BackingOff {
            server: server.clone(),
            failures: failures.count,
            wait,
            last: Box::new((*failed).clone()),
        })
    }
}

impl Failures {
    fn backoff(&self) -> Duration {
        match self.count {
            0 | 1 => Duration::ZERO,
            count => (FIRST_WAIT * 2u32.saturating_pow(count - 2)).min(MAX_WAIT),
        }
    }
}

impl Server {
    /// Returns the live connection. Starts a server that is not running, and restarts one that crashed.
    pub(super) async fn start_or_restart(
        self: &Arc<Self>,
    ) -> Result<Arc<LiveConnection>, StartError> {
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        // On its own task: a client that disconnects must not abort a start that other calls, or
        // its own next call, can use.
        let server = self.clone();
        let asked = Instant::now();
        let started = tokio::spawn(async move { server.start_once(asked).await }).await;
        started.unwrap_or_else(|_| Err(self.stopping_error()))
    }

    /// Stops it and starts it again at once, without any back-off.
    pub async fn restart(self: &Arc<Self>) -> Result<(), StartError> {
        let mut failures = self.attempts.lock_starts().await;
        self.attempts.reset_failures(&mut failures);
        self.context.pause.clear();
        self.stop().await;
        drop(failures);
        self.start_or_restart().await.map(drop)
    }

    async fn start_once(&self, asked: Instant) -> Result<Arc<LiveConnection>, StartError> {
        let mut failures = self.attempts.lock_starts().await;
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        if self.is_closing() {
            return Err(self.stopping_error());
        }
        if let Some(refusal) = self.attempts.too_early_error(self.name(), &failures, asked) {
            return Err(refusal);
        }
        match self.open_connection().await? {
            Ok(connection) => {
                self.attempts.record_success(&mut failures);
                Ok(self.go_live(connection).await)
            }
            Err(error) => {
                if self.attempts.record_failure(&mut failures, &error) {
                    log_failure(self.name(), &error.to_string(), error.stderr());
                }
                Err(error)
            }
        }
    }

    /// Opens a connection. The outer error is for a server that is stopped in the meantime.
    async fn open_connection(&self) -> Result<Result<Connection, StartError>, StartError> {
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
            () = self.closing.cancelled() => Err(self.stopping_error()),
        }
    }

    async fn go_live(&self, connection: Connection) -> Arc<LiveConnection> {
        if let Some(listing) = self.listing.load_full() {
            connection.learn_header_marks(&mut (*listing).clone());
        }
        let connection = Arc::new(connection);
        let watch = ResourceWatch::start(connection.clone(), self.watched.uris());
        watch.wait_until_acknowledged().await;
        let live = Arc::new(LiveConnection { connection, watch });
        // The program may differ from the one whose lists are known.
        self.context.ages.mark_all_doubtful();
        // It keeps these secrets, even if they are changed later.
        self.secrets();
        // A stopped server is removed first; one that is still here has ended by itself.
        let before = self.live.swap(Some(live.clone()));
        self.counters.count_start(before.is_some());
        self.record_use();
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

/// Logs why a server ended by itself.
async fn log_end(server: ServerName, connection: Arc<Connection>, log: Arc<ServerLog>) {
    if let Some(reason) = connection.wait_for_end().await {
        let what = format!("`{server}` disconnected: {reason}");
        log_failure(&server, &what, Some(&log.tail()));
    }
}

fn log_failure(server: &ServerName, what: &str, output: Option<&str>) {
    let last_words = output.and_then(to_log_line);
    tracing::warn!(%server, last_words, "{what}");
}
