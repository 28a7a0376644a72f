//! The part of the catalog that is not known yet: servers that are being listed for the first time,
//! and tools that are not indexed yet.

use kitbag_domain::Caller;

use crate::catalog::Catalog;
use crate::state::gateway::Gateway;

#[derive(Debug, Clone, Default)]
pub(crate) struct PendingListings {
    /// The servers that are being listed, as far as the caller may know of them.
    servers: Vec<String>,
    /// Tools of the catalog that a search cannot find yet.
    tools: usize,
}

impl PendingListings {
    pub(crate) fn new(gateway: &Gateway, catalog: &Catalog, caller: &Caller) -> Self {
        let servers = gateway.upstreams.iter();
        let unlisted =
            servers.filter(|server| server.listing().is_none() && server.start_problem().is_none());
        let visible = unlisted
            .map(|server| server.name())
            .filter(|name| gateway.is_server_visible(catalog, caller, name));
        let mut servers: Vec<String> = visible.map(ToString::to_string).collect();
        servers.sort_unstable();
        let (indexed, _) = gateway.services.index.snapshot().count_served();
        let known = catalog.tools.len() + gateway.providers.names().count();
        Self {
            servers,
            tools: known.saturating_sub(indexed),
        }
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.servers.is_empty() || self.tools > 0
    }

    /// Returns a note that a later search may find more.
    pub(crate) fn note(&self) -> Option<String> {
        /// More names would not help.
        const MOST: usize = 5;
        let names = self.servers.iter().take(MOST).cloned();
        let mut names: Vec<String> = names.collect();
        if self.servers.len() > MOST {
            names.push("…".to_owned());
        }
        let pending = match (self.servers.len(), self.tools) {
            (0, 0) => return None,
            (0, tools) => format!("{tools} tools are still being indexed"),
            (1, _) => format!("1 server is still being listed: {}", names.join(", ")),
            (count, _) => format!(
                "{count} servers are still being listed: {}",
                names.join(", ")
            ),
        };
        Some(format!(
            "No close match so far. {pending}. Search again in a moment."
        ))
    }
}
