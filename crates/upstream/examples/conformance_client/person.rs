//! A user who agrees to everything, and a grant store in memory.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use kitbag_upstream::oauth::{
    AddressGuards, DeviceCode, Grant, GrantStore, GrantStoreError, LoginError, Logins, Person,
    RedirectTarget,
};
use url::Url;

/// Follows redirects as a browser would, up to the one that leads back to the client.
#[derive(Debug)]
pub(crate) struct Agreeable;

#[async_trait]
impl Person for Agreeable {
    /// Nothing listens on this URL; it is only parsed.
    async fn redirect(&mut self, target: &RedirectTarget) -> Result<Url, LoginError> {
        Ok(target.url(7421))
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        let failed = |reason: String| LoginError::Person { reason };
        let browser = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let browser = browser.map_err(|error| failed(error.to_string()))?;
        let page = browser
            .get(url.clone())
            .send()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let location = page
            .headers()
            .get("location")
            .and_then(|it| it.to_str().ok());
        location
            .map(str::to_owned)
            .ok_or_else(|| failed("the page leads nowhere".to_owned()))
    }

    fn show(&mut self, _code: &DeviceCode) {}

    fn is_elsewhere(&self) -> bool {
        false
    }
}

pub(crate) fn logins() -> Logins {
    let guards = AddressGuards {
        public: Arc::new(|_| Ok(())),
        private: Arc::new(|_| Ok(())),
    };
    Logins {
        store: Arc::new(GrantsInMemory::default()),
        guards,
    }
}

#[derive(Default)]
struct GrantsInMemory(Mutex<BTreeMap<ServerName, Grant>>);

#[async_trait]
impl GrantStore for GrantsInMemory {
    async fn read(&self, server: &ServerName) -> Result<Option<Grant>, GrantStoreError> {
        Ok(self.grants().get(server).cloned())
    }

    async fn write(&self, server: &ServerName, grant: &Grant) -> Result<(), GrantStoreError> {
        self.grants().insert(server.clone(), grant.clone());
        Ok(())
    }

    async fn remove(&self, server: &ServerName) -> Result<bool, GrantStoreError> {
        Ok(self.grants().remove(server).is_some())
    }

    async fn lock(&self, _server: &ServerName) -> Result<Box<dyn Any + Send>, GrantStoreError> {
        Ok(Box::new(()))
    }
}

impl GrantsInMemory {
    fn grants(&self) -> std::sync::MutexGuard<'_, BTreeMap<ServerName, Grant>> {
        lock(&self.0)
    }
}
