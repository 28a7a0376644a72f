//! Groups of tools: every server is one, and so is every tag; configuration makes others.

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_domain::{Caller, ServerName};
use serde::Deserialize;

use super::shown;
use crate::catalog::{Catalog, Entry, near};
use crate::failure::Failure;
use crate::rooms::Rooms;
use crate::turn::Turn;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Enable {
    group: String,
}

/// `enable_tool_group`: puts a group's tools into the client's list.
pub(super) fn enable(rooms: &Arc<Rooms>, turn: &Turn, asked: &Enable) -> Result<String, Failure> {
    let catalog = rooms.catalog();
    let tools = tools(rooms, &turn.client.caller, &catalog, &asked.group)?;
    shown::enable(rooms, turn, &asked.group);
    let most = kitbag_relevance::MAX_TOP_K;
    Ok(match tools.len() {
        1 => format!("1 tool of {} is in your list now.", asked.group),
        few if few <= most => format!("{few} tools of {} are in your list now.", asked.group),
        many => format!(
            "{} has {many} tools; the first {most} are in your list now, the others are called with call_api.",
            asked.group
        ),
    })
}

/// The tools of one group a caller may see.
pub(super) fn tools<'a>(
    rooms: &Rooms,
    caller: &Caller,
    catalog: &'a Catalog,
    group: &str,
) -> Result<Vec<&'a Entry>, Failure> {
    let visible = visible(rooms, caller, catalog);
    let members: Vec<_> = visible
        .filter(|entry| belongs(rooms, entry, group))
        .collect();
    if members.is_empty() {
        let known = all(rooms, caller, catalog);
        let servers = rooms.upstreams.iter().map(|server| server.name());
        let servers = servers
            .filter(|name| rooms.server_visible(caller, name))
            .map(ServerName::as_str);
        let near = near(group, known.keys().map(String::as_str).chain(servers));
        let near = near.into_iter().map(str::to_owned).collect();
        return Err(Failure::UnknownGroup {
            group: group.to_owned(),
            near,
        });
    }
    Ok(members)
}

/// A number of tools, in words.
pub(super) fn counted(tools: usize) -> String {
    if tools == 1 {
        "1 tool".to_owned()
    } else {
        format!("{tools} tools")
    }
}

/// Every group but the servers themselves, with the number of tools the caller may see in it.
pub(super) fn all(rooms: &Rooms, caller: &Caller, catalog: &Catalog) -> BTreeMap<String, usize> {
    let mut groups = BTreeMap::new();
    for entry in visible(rooms, caller, catalog) {
        for group in of(rooms, entry) {
            *groups.entry(group.to_owned()).or_default() += 1;
        }
    }
    groups
}

pub(super) fn visible<'a, 'b>(
    rooms: &'a Rooms,
    caller: &'a Caller,
    catalog: &'b Catalog,
) -> impl Iterator<Item = &'b Entry> {
    catalog
        .tools
        .iter()
        .filter(|entry| rooms.policy.visible(caller, &entry.capability))
}

fn belongs(rooms: &Rooms, entry: &Entry, group: &str) -> bool {
    entry.capability.server.as_str() == group || of(rooms, entry).any(|it| it == group)
}

/// The groups a tool is in, besides that of its server. Tags that people gave it take the place of
/// those its server gave it.
fn of<'a>(rooms: &'a Rooms, entry: &'a Entry) -> impl Iterator<Item = &'a str> {
    let made = rooms.surfaces.groups.iter();
    let made = made.filter(|(_, patterns)| patterns.iter().any(|it| it.covers(&entry.capability)));
    let declared = rooms.declared.get(&entry.exposed);
    let tags = declared
        .map(|it| &it.tags)
        .filter(|tags| !tags.is_empty())
        .unwrap_or(&entry.tags);
    made.map(|(name, _)| name.as_str())
        .chain(tags.iter().map(String::as_str))
        .chain(declared.and_then(|it| it.group.as_deref()))
}
