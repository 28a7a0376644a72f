//! The last answer to the question if the store can be written.

use std::time::{Duration, Instant};

use kitbag_store::Store;
use tokio::sync::Mutex;

/// The time for which an answer of the store is used again, because any client may ask at any rate.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
/// A store that takes longer to write a few bytes would keep every call waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last finding about the store, and its time.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    store: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    pub(crate) async fn can_write(&self, store: &Store) -> bool {
        // Held while the store is asked, so that all requests that come meanwhile share the answer.
        let mut known = self.store.lock().await;
        if let Some((at, answer)) = *known
            && at.elapsed() < TRUSTED_FOR
        {
            return answer;
        }
        let answer = match tokio::time::timeout(PATIENCE, store.check_writable()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready: the store cannot be written");
                false
            }
            Err(_) => {
                tracing::warn!("not ready: the store does not get to writing");
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
