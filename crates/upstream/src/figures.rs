//! How busy a server is and how often it was started, for those who watch the gateway.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One server at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// Whether there is a connection to it now; one that nobody calls sleeps.
    pub is_running: bool,
    /// Calls it has not answered yet.
    pub in_flight: usize,
    /// Calls that wait for a place among those that may run.
    pub waiting: usize,
    /// How often it was started or connected to.
    pub starts: u64,
    /// How often of those it had ended without being asked to.
    pub restarts: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    waiting: AtomicUsize,
    starts: AtomicU64,
    restarts: AtomicU64,
}

impl Tally {
    /// Counts a call as waiting until the answer is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    pub(crate) fn started(&self, after_a_crash: bool) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.restarts
            .fetch_add(u64::from(after_a_crash), Ordering::Relaxed);
    }

    /// With how many calls are under way, if there is a connection.
    pub(crate) fn figures(&self, in_flight: Option<usize>) -> ServerFigures {
        ServerFigures {
            is_running: in_flight.is_some(),
            in_flight: in_flight.unwrap_or(0),
            waiting: self.waiting.load(Ordering::Relaxed),
            starts: self.starts.load(Ordering::Relaxed),
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }
}

pub(crate) struct Waiting<'a>(&'a Tally);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
