//! The resources that a client watches at servers. Watching ends with the session or the listen
//! stream, however that ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use kitbag_upstream::{CallError, Server};

/// One resource at its server.
pub(crate) struct WatchedResource {
    /// The client's URI.
    pub(crate) uri: String,
    pub(crate) server: Arc<Server>,
    /// The server's URI.
    pub(crate) own: String,
}

/// Resources that are being watched, by the client's URI.
#[derive(Default)]
pub(crate) struct WatchedResources {
    resources: Mutex<BTreeMap<String, WatchedResource>>,
}

impl WatchedResource {
    pub(crate) async fn start_watching(&self) -> Result<(), CallError> {
        self.server.watch(&self.own).await
    }

    pub(crate) async fn end(self) -> Result<(), CallError> {
        self.server.unwatch(&self.own).await
    }
}

impl WatchedResources {
    pub(crate) fn add(&self, resource: WatchedResource) {
        lock(&self.resources).insert(resource.uri.clone(), resource);
    }

    pub(crate) fn remove(&self, uri: &str) -> Option<WatchedResource> {
        lock(&self.resources).remove(uri)
    }

    pub(crate) fn uris(&self) -> BTreeSet<String> {
        lock(&self.resources).keys().cloned().collect()
    }

    /// Stops watching. Errors are ignored: an unreachable server has nothing to forget.
    pub(crate) async fn end(&self) {
        let resources = std::mem::take(&mut *lock(&self.resources));
        for resource in resources.into_values() {
            let _ = resource.end().await;
        }
    }
}

impl Drop for WatchedResources {
    fn drop(&mut self) {
        let resources = std::mem::take(&mut *lock(&self.resources));
        if !resources.is_empty() {
            let left = Self {
                resources: Mutex::new(resources),
            };
            tokio::spawn(async move { left.end().await });
        }
    }
}
