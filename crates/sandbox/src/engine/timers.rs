//! Functions that a program has scheduled for later.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rquickjs::Function;

#[derive(Debug, Default)]
pub(crate) struct Timers<'js> {
    last: Cell<u32>,
    due: RefCell<BTreeMap<(Instant, u32), Function<'js>>>,
}

impl<'js> Timers<'js> {
    /// Returns the number with which the timer is cleared.
    pub(crate) fn set(&self, function: Function<'js>, milliseconds: f64) -> u32 {
        self.last.update(|last| last + 1);
        let due = Instant::now() + duration(milliseconds);
        self.due
            .borrow_mut()
            .insert((due, self.last.get()), function);
        self.last.get()
    }

    pub(crate) fn clear(&self, number: u32) {
        self.due
            .borrow_mut()
            .retain(|(_, other), _| *other != number);
    }

    pub(crate) fn clear_all(&self) {
        self.due.borrow_mut().clear();
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.borrow().keys().next().map(|(due, _)| *due)
    }

    /// Takes the first function that is due.
    pub(crate) fn take_due(&self) -> Option<Function<'js>> {
        let mut all = self.due.borrow_mut();
        let first = all.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }
}

/// Nonsense such as a negative time or NaN means now, as in browsers.
fn duration(milliseconds: f64) -> Duration {
    Duration::from_secs_f64((milliseconds / 1000.0).clamp(0.0, MAX_SECONDS))
}

/// In seconds: a day is longer than any run.
const MAX_SECONDS: f64 = 86_400.0;
