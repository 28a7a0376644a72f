//! The resources of a server that clients watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;

use super::Server;
use crate::error::CallError;

#[derive(Default)]
pub(super) struct WatchedResources {
    /// Each resource with the number of clients that watch it. A server shares them with the one it
    /// replaces: a client can stop watching at either.
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
    /// Held while the server is sent a change of the watched resources, because two changes in the
    /// wrong order would leave a client without its updates.
    changing: tokio::sync::Mutex<()>,
}

impl WatchedResources {
    /// Returns the same resources, for the server that replaces this one.
    pub(super) fn share(&self) -> Self {
        Self {
            counts: self.counts.clone(),
            changing: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.counts).is_empty()
    }

    pub(super) fn uris(&self) -> BTreeSet<String> {
        lock(&self.counts).keys().cloned().collect()
    }

    fn add(&self, uri: &str) {
        *lock(&self.counts).entry(uri.to_owned()).or_insert(0) += 1;
    }

    /// Returns true if no client watches the resource any more.
    fn remove(&self, uri: &str) -> bool {
        let mut counts = lock(&self.counts);
        let Some(count) = counts.get_mut(uri) else {
            return false;
        };
        *count -= 1;
        let was_last = *count == 0;
        if was_last {
            counts.remove(uri);
        }
        was_last
    }
}

impl Server {
    /// Watches a resource for one more client.
    pub async fn watch(self: &Arc<Self>, uri: &str) -> Result<(), CallError> {
        let _block = self.block_stop();
        let live = self.start_or_restart().await?;
        let _guard = self.watched.changing.lock().await;
        self.watched.add(uri);
        let added = live.watch.add(uri, self.watched.uris()).await;
        if added.is_err() {
            self.watched.remove(uri);
        }
        added
    }

    /// Undoes one [`watch`](Self::watch).
    pub async fn unwatch(&self, uri: &str) -> Result<(), CallError> {
        let _guard = self.watched.changing.lock().await;
        let was_last = self.watched.remove(uri);
        match self.live_connection() {
            Some(live) if was_last => live.watch.remove(uri, self.watched.uris()).await,
            _ => Ok(()),
        }
    }
}
