//! How many calls a server has at once, and how many may wait until one of them ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::spec::Limits;

pub(crate) struct Places {
    free: Arc<Semaphore>,
    queued: AtomicUsize,
    most: usize,
    most_queued: usize,
}

/// Why a call cannot have a place.
pub(crate) enum NoPlace {
    /// All are taken, and so is the queue.
    Full,
    /// There will be none any more.
    Closed,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            free: Arc::new(Semaphore::new(limits.max_concurrent)),
            queued: AtomicUsize::new(0),
            most: limits.max_concurrent,
            most_queued: limits.max_queued,
        }
    }

    /// A place, or a short wait for one; it is given back when it is dropped.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, NoPlace> {
        if let Ok(place) = self.free.clone().try_acquire_owned() {
            return Ok(place);
        }
        let waiting = Waiting::new(&self.queued);
        if waiting.position > self.most_queued {
            return Err(NoPlace::Full);
        }
        self.free.clone().acquire_owned().await.map_err(|_| NoPlace::Closed)
    }

    /// Waits until everybody who has a place or waits for one is done, with patience but not
    /// without end; then nobody gets one any more.
    pub(crate) async fn close(&self, patience: Duration) {
        // Whoever waits has asked before us and is served before us.
        let all = self.free.acquire_many(u32::try_from(self.most).unwrap_or(u32::MAX));
        let all_ended = tokio::time::timeout(patience, all).await;
        // While all are ours, so that none is taken between the last call and the end.
        self.free.close();
        drop(all_ended);
    }
}

/// Somebody in the queue, until the wait is over or given up.
struct Waiting<'a> {
    queued: &'a AtomicUsize,
    position: usize,
}

impl<'a> Waiting<'a> {
    fn new(queued: &'a AtomicUsize) -> Self {
        Self { queued, position: queued.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }
}
