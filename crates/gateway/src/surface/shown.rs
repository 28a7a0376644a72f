//! Chooses the tools that the adaptive surface lists beside the always-on tools: never more than
//! twenty.
//!
//! The list has all tools, where there are no more than that. Otherwise it has first the tools that
//! the configuration pinned, then the groups that the client enabled, then the tools that the
//! client found or used last, then those that its credential used most. A modern client's list may
//! depend on its credential and on time alone, so what the client finds from call to call does not
//! change the list.

use std::collections::HashSet;

use kitbag_domain::{Capability, Surface};
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
    let services = &turn.gateway.services;
    let visible: Vec<&CatalogEntry> = groups::visible(turn).collect();
    let favourites = services
        .contexts
        .favourites(&services.store, turn.caller())
        .await;
    let (groups, recent) = services.contexts.of(&holder(turn));
    let pinned = visible.iter().copied().filter(|it| is_pinned(turn, it));
    let enabled = groups
        .iter()
        .filter_map(|group| groups::tools(turn, group).ok())
        .flatten();
    let recent = recent.iter().filter_map(|name| turn.catalog.tool(name));
    let favoured = favourites.iter().filter_map(|it| find(&visible, it));
    let mut seen = HashSet::new();
    all_of_few(turn, &visible)
        .into_iter()
        .chain(pinned)
        .chain(enabled)
        .chain(recent.filter(|it| turn.sees(&it.capability)))
        .chain(favoured)
        .filter(|entry| seen.insert(entry.exposed.as_str()))
        .take(MAX_TOP_K)
        .collect()
}

/// All tools of the servers, if there are few enough to list them. Every caller has the built-in
/// tools, so they are listed only for a client that uses them.
fn all_of_few<'a>(turn: &Turn, visible: &[&'a CatalogEntry]) -> Vec<&'a CatalogEntry> {
    let visible = visible.iter().copied();
    let own: Vec<&CatalogEntry> = visible
        .filter(|it| !turn.gateway.is_built_in(&it.capability.server))
        .collect();
    if own.len() <= MAX_TOP_K {
        own
    } else {
        Vec::new()
    }
}

fn is_pinned(turn: &Turn, entry: &CatalogEntry) -> bool {
    let mut pins = turn.gateway.surfaces.pinned.iter();
    pins.any(|pin| pin.covers(&entry.capability))
}

fn find<'a>(entries: &[&'a CatalogEntry], wanted: &Capability) -> Option<&'a CatalogEntry> {
    let mut entries = entries.iter().copied();
    entries.find(|entry| entry.capability == *wanted)
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
    match holder {
        ListHolder::Session(_) => turn.back.announce(tools_changed()),
        ListHolder::Credential(caller) => {
            for it in turn.gateway.services.sessions.subscribers() {
                let is_shown_the_list = it.view == View::Merged(Surface::Adaptive);
                if it.caller == *caller && is_shown_the_list && it.filter().tools {
                    it.mailbox.put(tools_changed());
                }
            }
        }
    }
}

fn tools_changed() -> Message {
    Notification::new(method::TOOLS_CHANGED, None).into()
}

fn holder(turn: &Turn) -> ListHolder {
    match turn.client.era {
        Era::Legacy => ListHolder::Session(turn.client.id.clone()),
        Era::Modern => ListHolder::Credential(turn.client.caller.clone()),
    }
}
