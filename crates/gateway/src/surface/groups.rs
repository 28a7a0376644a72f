//! Groups of tools: every server and every tag is one, and the configuration defines others.

use std::collections::BTreeMap;

use kitbag_domain::{ServerName, near_names};
use serde::Deserialize;

use super::adaptive_list;
use crate::call::failure::Failure;
use crate::catalog::CatalogEntry;
use crate::state::gateway::Gateway;
use crate::turn::Turn;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnableGroupArguments {
    group: String,
}

/// `enable_tool_group`: adds a group's tools to the client's list.
pub(super) fn enable_group(
    turn: &Turn,
    arguments: &EnableGroupArguments,
) -> Result<String, Failure> {
    let tools = tools_in_group(turn, &arguments.group)?;
    adaptive_list::enable_group(turn, &arguments.group);
    let most = kitbag_relevance::MAX_TOP_K;
    Ok(match tools.len() {
        1 => format!("1 tool of {} is in your list now.", arguments.group),
        few if few <= most => format!("{few} tools of {} are in your list now.", arguments.group),
        many => format!(
            "{} has {many} tools; the first {most} are in your list now, the others are called with call_api.",
            arguments.group
        ),
    })
}

/// Returns the tools of a group that a caller may see.
pub(super) fn tools_in_group<'a>(
    turn: &'a Turn,
    group: &str,
) -> Result<Vec<&'a CatalogEntry>, Failure> {
    let members: Vec<_> = visible_tools(turn)
        .filter(|entry| is_in_group(&turn.gateway, entry, group))
        .collect();
    if members.is_empty() {
        return Err(unknown_group(turn, group));
    }
    Ok(members)
}

fn unknown_group(turn: &Turn, group: &str) -> Failure {
    let known = count_groups(turn);
    let servers = turn.gateway.upstreams.iter().map(|server| server.name());
    let servers = servers
        .filter(|name| turn.can_see_server(name))
        .map(ServerName::as_str);
    let near = near_names(group, known.keys().map(String::as_str).chain(servers));
    Failure::UnknownGroup {
        group: group.to_owned(),
        near: near.into_iter().map(str::to_owned).collect(),
    }
}

/// Formats a number of tools.
pub(super) fn format_tool_count(tools: usize) -> String {
    if tools == 1 {
        "1 tool".to_owned()
    } else {
        format!("{tools} tools")
    }
}

/// Counts the tools that the caller may see in every group, except for servers.
pub(super) fn count_groups(turn: &Turn) -> BTreeMap<String, usize> {
    let mut groups = BTreeMap::new();
    for entry in visible_tools(turn) {
        for group in groups_of_tool(&turn.gateway, entry) {
            *groups.entry(group.to_owned()).or_default() += 1;
        }
    }
    groups
}

/// Returns the tools that the caller may see.
pub(super) fn visible_tools(turn: &Turn) -> impl Iterator<Item = &CatalogEntry> {
    let tools = turn.catalog.tools.iter().map(|it| &**it);
    tools.filter(|entry| turn.can_see(&entry.capability))
}

fn is_in_group(gateway: &Gateway, entry: &CatalogEntry, group: &str) -> bool {
    entry.capability.server.as_str() == group
        || entry.server_or_provider() == group
        || groups_of_tool(gateway, entry).any(|it| it == group)
}

/// Returns the groups of a tool other than its server. Tags from the operator replace tags from the
/// server.
fn groups_of_tool<'a>(
    gateway: &'a Gateway,
    entry: &'a CatalogEntry,
) -> impl Iterator<Item = &'a str> {
    let made = gateway.surfaces.groups.iter();
    let made = made.filter(|(_, patterns)| {
        patterns
            .iter()
            .any(|it| it.matches_capability(&entry.capability))
    });
    let declared = gateway.overrides.get(&entry.plain_name);
    let tags = declared
        .map(|it| &it.tags)
        .filter(|tags| !tags.is_empty())
        .unwrap_or(&entry.tags);
    made.map(|(name, _)| name.as_str())
        .chain(tags.iter().map(String::as_str))
        .chain(declared.and_then(|it| it.group.as_deref()))
}
