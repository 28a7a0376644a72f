//! Stops a server when it is idle, when it is replaced and at shutdown.

use std::sync::atomic::Ordering;

use kitbag_domain::sync::lock;

use super::{LiveConnection, Server};
use crate::connection::Connection;

impl Server {
    /// True while it is being stopped for good.
    pub fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits for running calls, then stops for good.
    pub async fn retire(&self) {
        self.slots.close(self.spec.limits.call_deadline).await;
        self.stop_for_good().await;
    }

    /// Stops for good: nothing restarts it.
    pub(crate) async fn stop_for_good(&self) {
        self.closing.cancel();
        // A start in progress sees that and aborts; only then can nothing go live any more.
        let _no_start = self.attempts.lock_starts().await;
        self.stop().await;
    }

    pub async fn stop(&self) {
        if let Some(live) = self.live.swap(None) {
            live.connection.close().await;
        }
    }

    pub(crate) async fn stop_if_idle(&self) {
        if self.stop_if(|_| self.is_idle()).await {
            tracing::info!(server = %self.name(), "stopped because it was idle");
        }
    }

    pub(super) async fn stop_if_only_listed(&self) {
        if self.stop_if(|connection| !connection.was_used()).await {
            tracing::debug!(server = %self.name(), "stopped after its lists were read");
        }
    }

    fn is_idle(&self) -> bool {
        lock(&self.last_used).elapsed() >= self.spec.limits.idle_timeout
    }

    /// Stops it if it is not in use and `wanted` is true. Returns true if it did.
    async fn stop_if(&self, wanted: impl Fn(&Connection) -> bool) -> bool {
        if !self
            .live_connection()
            .is_some_and(|live| self.is_unused(&live, &wanted))
        {
            return false;
        }
        // Nothing is started in the meantime, so two processes of one server never run at once.
        let _no_start = self.attempts.lock_starts().await;
        let Some(live) = self.live.swap(None) else {
            return false;
        };
        // A block is created before the connection is looked up. With none now, every caller that
        // looked up this connection has finished; later callers find none, and wait.
        if self.stop_blocks.load(Ordering::SeqCst) > 0 || !self.is_unused(&live, &wanted) {
            self.live.store(Some(live));
            return false;
        }
        live.connection.close().await;
        true
    }

    fn is_unused(&self, live: &LiveConnection, wanted: impl Fn(&Connection) -> bool) -> bool {
        live.connection.in_flight() == 0 && self.watched.is_empty() && wanted(&live.connection)
    }
}
