//! Computes what the whole catalog would have cost a caller, had it been listed. A definition is
//! priced once, as long as its server's listing stays the same.

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
    servers: HashMap<ServerName, Priced>,
    /// The prices of the catalog above, by caller.
    by_caller: HashMap<Caller, usize>,
}

struct Priced {
    listing: Weak<Listing>,
    /// The prices of the tools, by the name that the catalog shows.
    tools: HashMap<String, usize>,
}

impl Prices {
    /// About how many tokens the tools this caller may see are.
    pub(super) fn visible(
        &self,
        policy: &Policy,
        caller: &Caller,
        catalog: &Arc<Catalog>,
    ) -> usize {
        let mut known = lock(&self.known);
        known.follow(catalog);
        if let Some(price) = known.by_caller.get(caller) {
            return *price;
        }
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| policy.visible(caller, &entry.capability));
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
    fn follow(&mut self, catalog: &Arc<Catalog>) {
        if Weak::as_ptr(&self.catalog) == Arc::as_ptr(catalog) {
            return;
        }
        let mut before = std::mem::take(&mut self.servers);
        for (server, listing) in catalog.listings() {
            let same = before
                .remove(server)
                .filter(|it| Weak::as_ptr(&it.listing) == Arc::as_ptr(listing));
            let priced = same.unwrap_or_else(|| Priced::new(catalog, server, listing));
            self.servers.insert(server.clone(), priced);
        }
        self.by_caller.clear();
        self.catalog = Arc::downgrade(catalog);
    }
}

impl Priced {
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
