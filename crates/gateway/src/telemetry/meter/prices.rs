//! Estimates the tokens of the whole catalog for a caller. Each definition is estimated once, until
//! its server's listing changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use kitbag_domain::{Caller, ServerName};
use kitbag_upstream::Listing;

use crate::catalog::Catalog;
use kitbag_domain::sync::lock;
use kitbag_policy::Policy;

#[derive(Default)]
pub(super) struct Prices {
    known: Mutex<KnownPrices>,
}

#[derive(Default)]
struct KnownPrices {
    catalog: Weak<Catalog>,
    servers: HashMap<ServerName, ServerPrices>,
    /// The sum for each caller of the catalog above.
    by_caller: HashMap<Caller, usize>,
}

struct ServerPrices {
    listing: Weak<Listing>,
    /// Tokens by the tool's name in the catalog.
    tools: HashMap<String, usize>,
}

impl Prices {
    /// Estimates the tokens of all tools that the caller may see.
    pub(super) fn price_visible_tools(
        &self,
        policy: &Policy,
        caller: &Caller,
        catalog: &Arc<Catalog>,
    ) -> usize {
        let mut known = lock(&self.known);
        known.update_to(catalog);
        if let Some(price) = known.by_caller.get(caller) {
            return *price;
        }
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| policy.is_visible(caller, &entry.capability));
        let price = visible
            .filter_map(|entry| {
                known
                    .servers
                    .get(&entry.capability.server)?
                    .tools
                    .get(&entry.exposed)
            })
            .sum();
        known.by_caller.insert(caller.clone(), price);
        price
    }
}

impl KnownPrices {
    fn update_to(&mut self, catalog: &Arc<Catalog>) {
        if Weak::as_ptr(&self.catalog) == Arc::as_ptr(catalog) {
            return;
        }
        let mut before = std::mem::take(&mut self.servers);
        for (server, listing) in catalog.listings() {
            let same = before
                .remove(server)
                .filter(|it| Weak::as_ptr(&it.listing) == Arc::as_ptr(listing));
            let priced = same.unwrap_or_else(|| ServerPrices::new(catalog, server, listing));
            self.servers.insert(server.clone(), priced);
        }
        self.by_caller.clear();
        self.catalog = Arc::downgrade(catalog);
    }
}

impl ServerPrices {
    fn new(catalog: &Catalog, server: &ServerName, listing: &Arc<Listing>) -> Self {
        let own = catalog
            .tools
            .iter()
            .filter(|entry| entry.capability.server == *server);
        let price = |definition: &str| kitbag_budget::estimate_tokens(definition);
        let tools = own
            .map(|entry| (entry.exposed.clone(), price(entry.definition.get())))
            .collect();
        Self {
            listing: Arc::downgrade(listing),
            tools,
        }
    }
}
