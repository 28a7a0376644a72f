//! Chooses the tools that the adaptive surface lists beside the always-on tools: never more than
//! twenty.
//!
//! The list has all tools, where there are no more than that. Otherwise it has first the tools that
//! the configuration pinned, then the groups that the client enabled, then the tools that the
//! client found or used last, then those that its credential used most. A modern client's list may
//! depend on its credential and on time alone, so what the client finds from call to call does not
//! change the list.

use std::collections::HashSet;

use kitbag_domain::Surface;
use kitbag_relevance::MAX_TOP_K;
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Notification};

use super::groups;
use crate::catalog::CatalogEntry;
use crate::contexts::{ClientContext, ListHolder};
use crate::turn::Turn;
use crate::view::View;

/// The tools a client's list shows.
pub(crate) async fn listed(turn: &Turn) -> Vec<&CatalogEntry> {
    let (caller, catalog) = (turn.caller(), &turn.catalog);
    let visible: Vec<&CatalogEntry> = groups::visible(turn).collect();
    // Every caller has the built-in tools, so they are listed only for a client that uses them.
    let own: Vec<&CatalogEntry> = visible
        .iter()
        .copied()
        .filter(|it| !turn.gateway.is_built_in(&it.capability.server))
        .collect();
    let all_own = if own.len() <= MAX_TOP_K {
        own
    } else {
        Vec::new()
    };
    let favourites = turn
        .gateway
        .services
        .contexts
        .favourites(&turn.gateway.services.store, caller)
        .await;
    let (groups, recent) = turn.gateway.services.contexts.of(&holder(turn));
    let pinned = visible.iter().copied().filter(|it| {
        turn.gateway
            .surfaces
            .pinned
            .iter()
            .any(|pin| pin.covers(&it.capability))
    });
    let enabled = groups
        .iter()
        .filter_map(|group| groups::tools(turn, group).ok())
        .flatten();
    let recent = recent.iter().filter_map(|name| catalog.tool(name));
    let favoured = favourites.iter().filter_map(|it| {
        visible
            .iter()
            .copied()
            .find(|entry| entry.capability == *it)
    });
    let mut seen = HashSet::new();
    all_own
        .into_iter()
        .chain(pinned)
        .chain(enabled)
        .chain(recent.filter(|it| turn.sees(&it.capability)))
        .chain(favoured)
        .filter(|entry| seen.insert(entry.exposed.as_str()))
        .take(MAX_TOP_K)
        .collect()
}

/// A search came upon these tools.
pub(super) fn found<'a>(turn: &Turn, names: impl DoubleEndedIterator<Item = &'a str>) {
    if moves(turn) {
        change(turn, |context| {
            let mut moved = false;
            for name in names.rev() {
                moved |= context.bring_up(name);
            }
            moved
        });
    }
}

/// A tool was called.
pub(super) fn used(turn: &Turn, name: &str) {
    if moves(turn) && turn.catalog.tool(name).is_some() {
        change(turn, |context| context.bring_up(name));
    }
}

/// The client asked for a group; the latest comes first.
pub(super) fn enable(turn: &Turn, group: &str) {
    change(turn, |context| context.enable_group(group));
}

/// True if the list follows what the client does.
fn moves(turn: &Turn) -> bool {
    turn.view == View::Merged(Surface::Adaptive) && turn.client.era == Era::Legacy
}

fn change(turn: &Turn, change: impl FnOnce(&mut ClientContext) -> bool) {
    let holder = holder(turn);
    if turn
        .gateway
        .services
        .contexts
        .change(&holder, &turn.client.caller, change)
    {
        announce(turn, &holder);
    }
}

/// Tells every client that has this list that the list has changed.
fn announce(turn: &Turn, holder: &ListHolder) {
    let changed = || Message::from(Notification::new(method::TOOLS_CHANGED, None));
    match holder {
        ListHolder::Session(_) => turn.back.announce(changed()),
        ListHolder::Credential(caller) => {
            let concerned = |view: &View| *view == View::Merged(Surface::Adaptive);
            for it in turn.gateway.services.sessions.subscribers() {
                if it.caller == *caller && concerned(&it.view) && it.filter().tools {
                    it.mailbox.put(changed());
                }
            }
        }
    }
}

fn holder(turn: &Turn) -> ListHolder {
    match turn.client.era {
        Era::Legacy => ListHolder::Session(turn.client.id.clone()),
        Era::Modern => ListHolder::Credential(turn.client.caller.clone()),
    }
}
