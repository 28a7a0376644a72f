//! The processor time of a run, measured on the worker's only thread.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Once over, always over: a program that was stopped is not given another moment.
#[derive(Debug, Clone)]
pub(crate) struct CpuMeter {
    end: Duration,
    over: Rc<Cell<bool>>,
}

impl CpuMeter {
    pub(crate) fn start(budget: Duration) -> Self {
        Self {
            end: used() + budget,
            over: Rc::default(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.update(|over| over || used() >= self.end);
        self.over.get()
    }
}

/// Since the worker was started.
pub(crate) fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
