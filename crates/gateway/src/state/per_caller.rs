//! A cache with one value per caller, limited so that many keys cannot exhaust the memory.

use std::collections::HashMap;
use std::sync::Mutex;

use kitbag_domain::Caller;
use kitbag_domain::sync::lock;

/// Beyond this many callers, the cache is cleared. Values are recomputed on demand.
const MOST_CALLERS: usize = 10_000;

#[derive(Debug)]
pub(crate) struct PerCaller<T> {
    by_caller: Mutex<HashMap<Caller, T>>,
}

impl<T: Clone> PerCaller<T> {
    /// Returns the caller's value, and computes it the first time, outside the lock.
    pub(crate) fn get_or_compute(&self, caller: &Caller, make: impl FnOnce() -> T) -> T {
        if let Some(known) = lock(&self.by_caller).get(caller) {
            return known.clone();
        }
        let made = make();
        let mut by_caller = lock(&self.by_caller);
        if by_caller.len() >= MOST_CALLERS {
            by_caller.clear();
        }
        by_caller.entry(caller.clone()).or_insert(made).clone()
    }

    /// Replaces the value of a caller who has one, and returns the previous value.
    pub(crate) fn replace(&self, caller: &Caller, value: T) -> Option<T> {
        let mut by_caller = lock(&self.by_caller);
        let stored = by_caller.get_mut(caller)?;
        Some(std::mem::replace(stored, value))
    }
}

impl<T> Default for PerCaller<T> {
    fn default() -> Self {
        Self {
            by_caller: Mutex::default(),
        }
    }
}
