//! Tells the operator when a server changes what it said of a tool or prompt: people agreed to the
//! definition they saw, and a server may replace it afterwards.

use std::collections::HashMap;
use std::sync::Mutex;

use kitbag_domain::ServerName;
use kitbag_domain::sync::lock;
use kitbag_lockfile::seen::{DefinitionChange, SeenDefinitions};
use kitbag_upstream::Listing;

use crate::drift::offer;

/// Changes told one by one; a server that was updated may change all it has.
const MOST_TOLD: usize = 20;
/// The definitions that servers gave last, and the number of times that each server changed them.
#[derive(Default)]
pub(crate) struct Definitions {
    seen: Mutex<HashMap<ServerName, SeenDefinitions>>,
}

impl Definitions {
    /// Takes in a listing, and tells the log what is no longer as it was.
    pub(crate) fn learn(&self, server: &ServerName, listing: &Listing) {
        let changes = lock(&self.seen)
            .entry(server.clone())
            .or_default()
            .learn(offer(listing));
        for DefinitionChange { kind, name, what } in changes.iter().take(MOST_TOLD) {
            tracing::warn!(%server, "the {kind} `{name}` is no longer defined as it was: {what}");
        }
        if changes.len() > MOST_TOLD {
            let more = changes.len() - MOST_TOLD;
            tracing::warn!(%server, more, "further definitions are no longer as they were");
        }
    }

    /// Returns the number of definitions that each server has changed.
    pub(crate) fn changes(&self) -> Vec<(ServerName, u64)> {
        let seen = lock(&self.seen);
        let mut changes: Vec<_> = seen
            .iter()
            .map(|(server, seen)| (server.clone(), seen.changes))
            .collect();
        changes.sort();
        changes
    }
}
