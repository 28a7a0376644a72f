//! The timeouts of one call: how long its server may be silent, and how long it may take.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How long a call waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallTimeouts {
    /// Progress restarts this timeout.
    pub(crate) silence: Duration,
    pub(crate) total: Duration,
}

impl CallTimeouts {
    /// For requests that stay open, such as a subscription.
    pub(crate) const ENDLESS: Self = Self {
        silence: Duration::from_secs(u32::MAX as u64),
        total: Duration::from_secs(u32::MAX as u64),
    };

    pub(crate) fn with_single_limit(silence: Duration) -> Self {
        Self {
            silence,
            total: silence,
        }
    }
}

#[derive(Debug)]
pub(crate) struct CallClock {
    pub(crate) timeouts: CallTimeouts,
    end: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl CallClock {
    pub(crate) fn new(timeouts: CallTimeouts) -> Self {
        Self {
            timeouts,
            end: Instant::now() + timeouts.total,
            sleep: None,
        }
    }

    pub(crate) fn restart(&mut self) {
        self.sleep = None;
    }

    pub(crate) fn extend(&mut self) {
        self.end = self.end.max(Instant::now() + self.timeouts.silence);
        self.restart();
    }

    pub(crate) async fn wait_for_timeout(&mut self) {
        let until = (Instant::now() + self.timeouts.silence).min(self.end);
        self.sleep
            .get_or_insert_with(|| Box::pin(sleep_until(until)))
            .await;
    }
}
