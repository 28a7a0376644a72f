//! Checks for `GET /ready` whether the store is writable, and caches the result for a moment.

use std::time::{Duration, Instant};

use kitbag_store::Store;
use tokio::sync::Mutex;

/// The time for which a result is cached, because any client may ask at any rate.
const CACHE_TIME: Duration = Duration::from_secs(1);
/// The timeout of a check. A store that takes longer to write a few bytes would delay every call.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The last result, and its time.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    store: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    pub(crate) async fn can_write(&self, store: &Store) -> bool {
        // Locked during the check, so that concurrent requests share its result.
        let mut known = self.store.lock().await;
        if let Some((at, answer)) = *known
            && at.elapsed() < CACHE_TIME
        {
            return answer;
        }
        let answer = match tokio::time::timeout(CHECK_TIMEOUT, store.check_writable()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready: the store cannot be written to");
                false
            }
            Err(_) => {
                tracing::warn!("not ready: writing to the store timed out");
                false
            }
        };
        *known = Some((Instant::now(), answer));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_that_cannot_be_written_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        assert!(Readiness::default().can_write(&store).await);
        store.close().await;
        assert!(!Readiness::default().can_write(&store).await);
    }
}
