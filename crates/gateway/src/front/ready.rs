//! `GET /ready`: whether this gateway can do its work now, for those who send clients to it.
//!
//! It needs no key, so it says in a few words what is wanting and names nothing. That it answers at all
//! says that the listener is open.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use kitbag_store::Store;
use tokio::sync::Mutex;

use crate::gateway::Gateway;

/// Asked more often than this, the store is not bothered again: anybody may ask.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
/// A store that takes longer to write a few bytes would keep every call waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was found out last about the store, and when.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    store: Mutex<Option<(Instant, bool)>>,
}

pub(super) async fn ready(State(gateway): State<Arc<Gateway>>) -> HttpResponse {
    let store = gateway
        .services
        .readiness
        .can_write(&gateway.services.store)
        .await;
    let wanting = wanting([
        (store, "the store cannot be written"),
        (
            gateway.services.index.has_begun(),
            "the index is not loaded yet",
        ),
    ]);
    match wanting {
        None => "ready\n".into_response(),
        Some(text) => (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
    }
}

fn wanting(checks: [(bool, &str); 2]) -> Option<String> {
    let reasons: Vec<_> = checks
        .into_iter()
        .filter(|(is_well, _)| !is_well)
        .map(|(_, why)| why)
        .collect();
    (!reasons.is_empty()).then(|| format!("not ready: {}\n", reasons.join("; ")))
}

impl Readiness {
    async fn can_write(&self, store: &Store) -> bool {
        // Held while asking, so that all who come meanwhile share the answer.
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

    #[test]
    fn everything_that_is_wanting_is_said() {
        assert_eq!(wanting([(true, "a"), (true, "b")]), None);
        assert_eq!(
            wanting([(true, "a"), (false, "b")]).as_deref(),
            Some("not ready: b\n")
        );
        assert_eq!(
            wanting([(false, "a"), (false, "b")]).as_deref(),
            Some("not ready: a; b\n")
        );
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_written_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        assert!(Readiness::default().can_write(&store).await);
        store.close().await;
        assert!(!Readiness::default().can_write(&store).await);
    }
}
