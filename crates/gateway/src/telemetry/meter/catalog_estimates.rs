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
pub(super) struct CatalogEstimates {
    known: Mutex<KnownEstimates>,
}

#[derive(Default)]
struct KnownEstimates {
    catalog: Weak<Catalog>,
    servers: HashMap<ServerName, ServerEstimates>,
    /// The sum for each caller of the catalog above.
    by_caller: HashMap<Caller, usize>,
}

struct ServerEstimates {
    listing: Weak<Listing>,
    /// Tokens by the tool's name in the catalog.
    tools: HashMap<String, usize>,
}

impl CatalogEstimates {
    /// Estimates the tokens of all tools that the caller may see.
    pub(super) fn estimate_visible_tools(
        &self,
        policy: &Policy,
        caller: &Caller,
        catalog: &Arc<Catalog>,
    ) -> usize {
        let mut known = lock(&self.known);
        known.update_to(catalog);
        if let Some(tokens) = known.by_caller.get(caller) {
            return *tokens;
        }
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| policy.is_visible(caller, &entry.capability));
        let tokens = visible
            .filter_map(|entry| {
                known
                    .servers
                    .get(&entry.capability.server)?
                    .tools
                    .get(&entry.exposed)
            })
            .sum();
        known.by_caller.insert(caller.clone(), tokens);
        tokens
    }
}

impl KnownEstimates {
    fn update_to(&mut self, catalog: &Arc<Catalog>) {
        if Weak::as_ptr(&self.catalog) == Arc::as_ptr(catalog) {
            return;
        }
        let mut before = std::mem::take(&mut self.servers);
        for (server, listing) in catalog.listings() {
            let same = before
                .remove(server)
                .filter(|it| Weak::as_ptr(&it.listing) == Arc::as_ptr(listing));
            let estimates = same.unwrap_or_else(|| ServerEstimates::new(catalog, server, listing));
            self.servers.insert(server.clone(), estimates);
        }
        self.by_caller.clear();
        self.catalog = Arc::downgrade(catalog);
    }
}

impl ServerEstimates {
    fn new(catalog: &Catalog, server: &ServerName, listing: &Arc<Listing>) -> Self {
        let own = catalog
            .tools
            .iter()
            .filter(|entry| entry.capability.server == *server);
        let count = |definition: &str| kitbag_budget::estimate_tokens(definition);
        let tools = own
            .map(|entry| (entry.exposed.clone(), count(entry.definition.get())))
            .collect();
        Self {
            listing: Arc::downgrade(listing),
            tools,
        }
    }
}
