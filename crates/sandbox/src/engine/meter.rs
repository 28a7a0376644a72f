//! The processor time of a run, measured on the worker's only thread, and its memory use.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Once exceeded, it stays exceeded: a stopped program gets no more time.
#[derive(Debug, Clone)]
pub(crate) struct CpuMeter {
    end: Duration,
    over: Rc<Cell<bool>>,
}

impl CpuMeter {
    pub(crate) fn start(budget: Duration) -> Self {
        Self {
            end: cpu_time() + budget,
            over: Rc::default(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.update(|over| over || cpu_time() >= self.end);
        self.over.get()
    }
}

/// The worker's peak memory, compared with the peak before the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryMeter {
    budget: usize,
    before: usize,
    /// The memory that the worker needs before any program runs.
    own: usize,
}

impl MemoryMeter {
    pub(crate) fn start(budget: usize) -> Self {
        static OWN: OnceLock<usize> = OnceLock::new();
        let before = peak_memory();
        Self {
            budget,
            before,
            own: *OWN.get_or_init(|| before),
        }
    }

    /// True if the run used most of its memory. The engine counts bytes and the kernel counts
    /// written pages, so the two differ.
    pub(crate) fn is_near_limit(&self) -> bool {
        let now = peak_memory();
        now > self.before && now.saturating_sub(self.own) >= self.budget / 4 * 3
    }
}

#[cfg(target_os = "linux")]
fn peak_memory() -> usize {
    use nix::sys::resource::{UsageWho, getrusage};

    let used = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
    usize::try_from(used).unwrap_or_default() * 1024
}

#[cfg(not(target_os = "linux"))]
fn peak_memory() -> usize {
    0
}

/// Returns the processor time since the worker was started.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
