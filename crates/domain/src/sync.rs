//! Taking short locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a panic elsewhere: no lock in Kitbag guards more than one step, so the
/// guarded value is always consistent.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
