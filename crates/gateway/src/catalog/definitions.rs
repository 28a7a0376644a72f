//! Warns the operator when a server changes a definition: users agreed to the definition they saw,
//! and a server may replace it afterwards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use kitbag_domain::{DefinitionKind, ServerName};
use kitbag_lockfile::ListedOffer;
use kitbag_lockfile::definition_history::{DefinitionChange, DefinitionHistory};
use kitbag_upstream::Listing;
use kitbag_wire::Raw;

use crate::catalog::drift::listed_offer;
use crate::catalog::list_diff::previous_positions;

/// The most changes logged one by one; an updated server may change everything.
const MAX_LOGGED: usize = 20;
/// The last definitions of each server, and the number of times that each server changed them.
#[derive(Default)]
pub(crate) struct Definitions {
    by_server: Mutex<HashMap<ServerName, ServerDefinitions>>,
}

#[derive(Default)]
struct ServerDefinitions {
    seen: DefinitionHistory,
    latest: Option<Arc<Listing>>,
}

impl Definitions {
    /// Records a listing, and logs the definitions that changed.
    pub(crate) fn record_listing(&self, server: &ServerName, listing: &Arc<Listing>) {
        let mut of_servers = lock(&self.by_server);
        let known = of_servers.entry(server.clone()).or_default();
        let changes = known.record_listing(listing);
        drop(of_servers);
        for DefinitionChange { kind, name, what } in changes.iter().take(MAX_LOGGED) {
            tracing::warn!(%server, "the definition of the {kind} `{name}` has changed: {what}");
        }
        if changes.len() > MAX_LOGGED {
            let more = changes.len() - MAX_LOGGED;
            tracing::warn!(%server, more, "further definitions have changed");
        }
    }

    /// Returns the number of definitions that each server has changed.
    pub(crate) fn count_changes(&self) -> Vec<(ServerName, u64)> {
        let of_servers = lock(&self.by_server);
        let mut changes: Vec<_> = of_servers
            .iter()
            .map(|(server, known)| (server.clone(), known.seen.changes))
            .collect();
        changes.sort();
        changes
    }
}

impl ServerDefinitions {
    /// Compares the definitions that are not in the latest listing.
    fn record_listing(&mut self, listing: &Arc<Listing>) -> Vec<DefinitionChange> {
        let before = self.latest.replace(listing.clone());
        if before.as_ref().is_some_and(|it| Arc::ptr_eq(it, listing)) {
            return Vec::new();
        }
        let before = before.as_deref().map(listed_offer);
        let now = listed_offer(listing);
        let fresh = |kind| {
            let before = before.map_or(&[][..], |before| before.list(kind));
            new_definitions(before, now.list(kind))
        };
        self.seen.record_changes(ListedOffer {
            tools: &fresh(DefinitionKind::Tool),
            prompts: &fresh(DefinitionKind::Prompt),
            resource_templates: &fresh(DefinitionKind::ResourceTemplate),
            skills: &fresh(DefinitionKind::Skill),
            resources: &[],
            unmasked: &[],
        })
    }
}

fn new_definitions(before: &[Raw], now: &[Raw]) -> Vec<Raw> {
    let [known, listed] =
        [before, now].map(|list| list.iter().map(|it| it.get()).collect::<Vec<_>>());
    let positions = now.iter().zip(previous_positions(&known, &listed));
    positions
        .filter(|(_, position)| position.is_none())
        .map(|(it, _)| it.clone())
        .collect()
}
