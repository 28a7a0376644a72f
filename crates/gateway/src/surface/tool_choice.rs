//! Chooses the tools that the adaptive surface lists in addition to the always-on tools: at most
//! twenty, unless the operator wants all of them for a new client.
//!
//! If there are no more than that, all tools are listed. Otherwise the list begins with the tools
//! pinned in the configuration, followed by the groups that the client enabled, the tools that the
//! client last found or used and those for the user's last prompt, the tools that its credential
//! uses, and others: the nearest to the client's name, or else some of each server. The more the
//! usage shows that few tools are enough, the shorter the list.

use std::collections::{BTreeMap, HashSet, VecDeque};

use kitbag_config::ColdStart;
use kitbag_domain::ServerName;
use kitbag_relevance::MAX_TOP_K;
use kitbag_wire::Era;

use super::{adaptive_list, groups};
use crate::catalog::CatalogEntry;
use crate::learning::client_lists::{ListHolder, ListedFavourites};
use crate::state::clock::now;
use crate::surface::find::find_best;
use crate::turn::Turn;

/// Slots for tools that the credential has not used yet; otherwise it would never see new ones.
const UNUSED_SLOTS: usize = 2;
/// Most tasks need three to five tools, so a shorter list does not justify a search.
const MIN_LENGTH: usize = 5;

/// Returns the tools of a client's list.
pub(crate) async fn choose_tools(turn: &Turn) -> Vec<&CatalogEntry> {
    let visible: Vec<&CatalogEntry> = groups::visible_tools(turn).collect();
    let own = without_built_in(turn, &visible);
    let mut list = ToolList::default();
    list.add(requested_tools(turn, &visible));
    let favourites = favourite_tools(turn).await;
    if own.len() <= MAX_TOP_K {
        let mut all = ToolList::default();
        all.add(own.iter().copied().chain(list.entries));
        return all.truncate_to(MAX_TOP_K);
    }
    if turn.gateway.surfaces.cold_start == ColdStart::All
        && list.entries.is_empty()
        && favourites.tools.is_empty()
    {
        return own;
    }
    let enough = favourites.enough.unwrap_or(MAX_TOP_K);
    let length = (list.entries.len() + enough + UNUSED_SLOTS).clamp(MIN_LENGTH, MAX_TOP_K);
    let used = favourites.tools.iter().take(enough);
    list.add(used.filter_map(|name| find_visible(turn, name)));
    if list.entries.len() < length {
        list.add(nearest_tools(turn).await);
        list.add(spread_over_servers(&own));
    }
    list.truncate_to(length)
}

/// Each tool once, in the order of its first addition.
#[derive(Default)]
struct ToolList<'a> {
    entries: Vec<&'a CatalogEntry>,
    names: HashSet<&'a str>,
}

impl<'a> ToolList<'a> {
    fn add(&mut self, entries: impl IntoIterator<Item = &'a CatalogEntry>) {
        for entry in entries {
            if self.names.insert(&entry.exposed) {
                self.entries.push(entry);
            }
        }
    }

    fn truncate_to(mut self, length: usize) -> Vec<&'a CatalogEntry> {
        self.entries.truncate(length);
        self.entries
    }
}

/// Returns the tools of servers. Every caller has the built-in tools, so they are listed only for a
/// client that uses them.
fn without_built_in<'a>(turn: &Turn, visible: &[&'a CatalogEntry]) -> Vec<&'a CatalogEntry> {
    let visible = visible.iter().copied();
    visible
        .filter(|it| !turn.gateway.is_built_in(&it.capability.server))
        .collect()
}

/// Returns the tools that the operator, the client or the user requested.
fn requested_tools<'a>(turn: &'a Turn, visible: &[&'a CatalogEntry]) -> Vec<&'a CatalogEntry> {
    let lists = &turn.gateway.services.client_lists;
    let (groups, recent) = lists.list_for(&adaptive_list::list_holder(turn));
    let (_, prompt_tools) = lists.list_for(&ListHolder::Credential(turn.caller().clone()));
    let pinned = visible
        .iter()
        .copied()
        .filter(|it| turn.gateway.is_pinned(it));
    let enabled = groups
        .iter()
        .filter_map(|group| groups::tools_in_group(turn, group).ok())
        .flatten();
    let recent = recent.iter().chain(&prompt_tools);
    let recent = recent.filter_map(|name| find_visible(turn, name));
    pinned.chain(enabled).chain(recent).collect()
}

fn find_visible<'a>(turn: &'a Turn, name: &str) -> Option<&'a CatalogEntry> {
    let entry = turn.catalog.tool(name);
    entry.filter(|entry| turn.can_see(&entry.capability))
}

/// Returns the tools that the credential uses, as of a few minutes ago.
async fn favourite_tools(turn: &Turn) -> ListedFavourites {
    let services = &turn.gateway.services;
    let learned = match turn.gateway.learning.enabled {
        true => services.learner.lessons_for(turn.caller()).await,
        false => None,
    };
    let key = turn.caller().key.as_ref();
    services.client_lists.favourites(turn.caller(), || {
        let learned = learned.as_ref().map(|it| &it.favourites);
        let tools = learned.map_or_else(Vec::new, |it| it.tools_for(key));
        let tools = tools.into_iter().map(str::to_owned).collect();
        let enough = learned.and_then(|it| it.sufficient_count(key, now()));
        ListedFavourites::new(tools, enough)
    })
}

/// Returns the tools nearest to a legacy client's name for itself.
async fn nearest_tools(turn: &Turn) -> Vec<&CatalogEntry> {
    let name = turn.client.name.as_ref();
    let Some(name) = name.filter(|_| turn.client.era == Era::Legacy) else {
        return Vec::new();
    };
    let found = find_best(&turn.gateway, turn.caller(), name.as_str(), MAX_TOP_K).await;
    let found = found.candidates.iter();
    found
        .filter_map(|it| find_visible(turn, &it.entry.tool_name))
        .collect()
}

/// Takes one tool of each server, then a second one of each, and so on.
fn spread_over_servers<'a>(tools: &[&'a CatalogEntry]) -> Vec<&'a CatalogEntry> {
    let mut by_server: BTreeMap<&ServerName, VecDeque<&CatalogEntry>> = BTreeMap::new();
    for tool in tools {
        let of_server = by_server.entry(&tool.capability.server);
        of_server.or_default().push_back(tool);
    }
    let mut spread = Vec::with_capacity(MAX_TOP_K);
    while spread.len() < MAX_TOP_K && !by_server.is_empty() {
        spread.extend(by_server.values_mut().filter_map(VecDeque::pop_front));
        by_server.retain(|_, left| !left.is_empty());
    }
    spread
}
