//! The HTTP APIs of the configuration, ready to be called.

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_apis::Provider;
use kitbag_config::ProviderConfig;
use kitbag_domain::{Lookup, ServerName};

use crate::state::address_guard::address_guard;

#[derive(Debug, Default)]
pub(crate) struct Providers(BTreeMap<ServerName, Arc<Provider>>);

impl Providers {
    /// Variables in their headers are resolved by `lookup` at each call.
    pub(crate) fn new(configured: &BTreeMap<ServerName, ProviderConfig>, lookup: &Lookup) -> Self {
        let built = configured.iter().map(|(name, configured)| {
            let guard = address_guard(configured.addresses.clone());
            (
                name.clone(),
                Arc::new(Provider::new(
                    configured.spec.clone(),
                    lookup.clone(),
                    guard,
                )),
            )
        });
        Self(built.collect())
    }

    pub(crate) fn get(&self, name: &ServerName) -> Option<&Arc<Provider>> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.0.values().map(|provider| &**provider)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &ServerName> {
        self.0.keys()
    }
}
