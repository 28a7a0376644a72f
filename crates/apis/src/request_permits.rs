//! The permits for one API's concurrent requests.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Others wait until their time is up.
const MAX_REQUESTS: usize = 64;

pub(crate) struct RequestPermits(Semaphore);

impl RequestPermits {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(MAX_REQUESTS))
    }

    /// Waits for a permit; dropping it frees it again.
    pub(crate) async fn acquire(&self) -> SemaphorePermit<'_> {
        let permit = self.0.acquire().await;
        permit.expect("the semaphore is never closed")
    }
}
