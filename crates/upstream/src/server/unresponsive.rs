//! Checks whether a server that did not answer a call is unresponsive, and restarts it if so.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{LiveConnection, Server};
use crate::error::{CallError, RestartOutcome, StartError};
use crate::exchange::OnTimeout;

/// The caller has already waited for its call, so it does not wait for a slow start, too.
const RESTART_TIMEOUT: Duration = Duration::from_secs(15);

/// The last restart of an unresponsive server, for other calls that time out over its connection.
#[derive(Default)]
pub(super) struct SilenceChecks {
    last: tokio::sync::Mutex<Option<(Weak<LiveConnection>, RestartOutcome)>>,
}

impl Server {
    /// Returns the check that is made when a call over this connection times out. It continues if
    /// the client of the call disconnects.
    pub(super) fn check_on_timeout(self: &Arc<Self>, live: &Arc<LiveConnection>) -> OnTimeout {
        let (server, live) = (self.clone(), live.clone());
        OnTimeout::new(move |timed_out| {
            tokio::spawn(async move { server.check_silence(&live, timed_out).await })
        })
    }

    /// Pings the server, and restarts it if it does not answer. Returns the error of the call.
    async fn check_silence(
        self: &Arc<Self>,
        live: &Arc<LiveConnection>,
        timed_out: CallError,
    ) -> CallError {
        // One at a time, so that calls which time out together share the restart.
        let mut last = self.silence.last.lock().await;
        let this = Arc::downgrade(live);
        let outcome = match &*last {
            Some((connection, outcome)) if connection.ptr_eq(&this) => outcome.clone(),
            _ if live.connection.answers_ping().await => return timed_out,
            _ => {
                tracing::warn!(server = %self.name(), "the server answers neither calls nor a ping; restarting it");
                let outcome = self.restart_unresponsive(live.clone()).await;
                *last = Some((this, outcome.clone()));
                outcome
            }
        };
        CallError::Unresponsive {
            server: self.name().clone(),
            outcome,
        }
    }

    async fn restart_unresponsive(self: &Arc<Self>, broken: Arc<LiveConnection>) -> RestartOutcome {
        let server = self.clone();
        let restarting = tokio::spawn(async move { server.replace_connection(&broken).await });
        match tokio::time::timeout(RESTART_TIMEOUT, restarting).await {
            Ok(Ok(Ok(()))) if self.spec.endpoint().is_some() => RestartOutcome::Reconnected,
            Ok(Ok(Ok(()))) => RestartOutcome::Restarted,
            Ok(Ok(Err(error))) => RestartOutcome::Failed(Box::new(error)),
            Ok(Err(_)) | Err(_) => RestartOutcome::Pending,
        }
    }

    /// Ends this connection and restarts the server, or later if it was unresponsive before.
    async fn replace_connection(
        self: &Arc<Self>,
        broken: &Arc<LiveConnection>,
    ) -> Result<(), StartError> {
        let mut failures = self.attempts.lock_starts().await;
        let current = self.live.load_full();
        if current.is_some_and(|live| Arc::ptr_eq(&live, broken)) {
            let answered = broken.connection.has_answered();
            self.attempts
                .record_unresponsive(&mut failures, answered, self.name());
            self.stop().await;
        }
        drop(failures);
        self.start_or_restart().await.map(drop)
    }
}
