//! The list of the adaptive surface: it follows what a legacy client finds and uses, and the user's
//! prompts. `tool_choice` chooses the tools.
//!
//! A modern client's list may depend only on its credential and on time, so what such a client
//! finds from call to call does not change its list.

use kitbag_domain::{Caller, Surface};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Notification};

use crate::learning::client_lists::{ClientList, ListHolder};
use crate::state::gateway::Gateway;
use crate::turn::Turn;
use crate::turn::view::View;

/// Adds the tools that a search has found.
pub(super) fn add_found_tools<'a>(turn: &Turn, names: impl DoubleEndedIterator<Item = &'a str>) {
    if follows_client(turn) {
        change_list(turn, |list| move_to_front(list, names));
    }
}

/// Adds a tool that was called.
pub(super) fn add_used_tool(turn: &Turn, name: &str) {
    if follows_client(turn) && turn.catalog.tool(name).is_some() {
        change_list(turn, |list| list.move_to_front(name));
    }
}

/// Adds a group that the client requested; the latest comes first.
pub(super) fn enable_group(turn: &Turn, group: &str) {
    change_list(turn, |list| list.enable_group(group));
}

/// True if the list follows the client's activity.
fn follows_client(turn: &Turn) -> bool {
    turn.view == View::Merged(Surface::Adaptive) && turn.client.era == Era::Legacy
}

fn change_list(turn: &Turn, change: impl FnOnce(&mut ClientList) -> bool) {
    let holder = list_holder(turn);
    let lists = &turn.gateway.services.client_lists;
    if !lists.change_list(&holder, turn.caller(), change) {
        return;
    }
    match &holder {
        ListHolder::Session(_) => turn.back.announce(tools_changed_notification()),
        ListHolder::Credential(caller) => announce_list_change(&turn.gateway, caller),
    }
}

/// Adds the tools for a user's prompt. All clients of the credential are notified.
pub(crate) fn add_prompt_tools<'a>(
    gateway: &Gateway,
    caller: &Caller,
    names: impl DoubleEndedIterator<Item = &'a str>,
) {
    let holder = ListHolder::Credential(caller.clone());
    let lists = &gateway.services.client_lists;
    if lists.change_list(&holder, caller, |list| move_to_front(list, names)) {
        announce_list_change(gateway, caller);
    }
}

/// Moves tools to the front; true if one of them was not listed before.
fn move_to_front<'a>(
    list: &mut ClientList,
    names: impl DoubleEndedIterator<Item = &'a str>,
) -> bool {
    let mut moved = false;
    for name in names.rev() {
        moved |= list.move_to_front(name);
    }
    moved
}

/// Notifies every client of a credential that its list has changed.
fn announce_list_change(gateway: &Gateway, caller: &Caller) {
    for it in gateway.services.sessions.subscribers() {
        let is_shown_the_list = it.view == View::Merged(Surface::Adaptive);
        if it.caller == *caller && is_shown_the_list && it.filter().tools {
            it.mailbox.put(tools_changed_notification());
        }
    }
}

fn tools_changed_notification() -> Message {
    Notification::new(method::TOOLS_CHANGED, None).into()
}

pub(super) fn list_holder(turn: &Turn) -> ListHolder {
    match turn.client.era {
        Era::Legacy => ListHolder::Session(turn.client.id.clone()),
        Era::Modern => ListHolder::Credential(turn.client.caller.clone()),
    }
}
