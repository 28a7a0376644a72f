//! Figures for operators: the load of a server and its number of starts.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// One server at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerFigures {
    /// True while there is a connection to it; an idle server has none.
    pub is_running: bool,
    /// Calls it has not answered yet.
    pub in_flight: usize,
    /// Calls that wait for a slot.
    pub waiting: usize,
    /// The number of starts or connections.
    pub starts: u64,
    /// The number of starts after the server had ended by itself.
    pub restarts: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ServerCounters {
    waiting: AtomicUsize,
    starts: AtomicU64,
    restarts: AtomicU64,
}

impl ServerCounters {
    /// Counts a call as waiting until the guard is dropped.
    pub(crate) fn count_waiting(&self) -> WaitingCall<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitingCall(self)
    }

    pub(crate) fn count_start(&self, after_a_crash: bool) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.restarts
            .fetch_add(u64::from(after_a_crash), Ordering::Relaxed);
    }

    /// Returns the figures. `in_flight` is the number of running calls, if there is a connection.
    pub(crate) fn snapshot(&self, in_flight: Option<usize>) -> ServerFigures {
        ServerFigures {
            is_running: in_flight.is_some(),
            in_flight: in_flight.unwrap_or(0),
            waiting: self.waiting.load(Ordering::Relaxed),
            starts: self.starts.load(Ordering::Relaxed),
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }
}

pub(crate) struct WaitingCall<'a>(&'a ServerCounters);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
