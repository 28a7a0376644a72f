//! The guide: the part of the search tool's description that lists the available servers and APIs.
//! A model that does not know what it can search for does not search.
//!
//! The guide is part of a tool's description, because every client shows descriptions to its model,
//! and many clients ignore a server's instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kitbag_budget::GuideRow;
use kitbag_domain::{Caller, ServerName};
use kitbag_relevance::server_summary::{
    adds_to_name, summarize_descriptions, summarize_text, summarize_tool_names,
};
use kitbag_wire::RawObject;

use crate::catalog::tool_files::FileToolExecutor;
use crate::catalog::{Catalog, CatalogEntry};
use crate::state::gateway::Gateway;

/// The introduction, and an estimate that is too low, may raise the total to 120 tokens.
const GUIDE_TOKENS: usize = 90;
/// For the cheapest surface.
const NAMES_TOKENS: usize = 30;

/// Returns the names of the servers and APIs that a caller may know of, without descriptions.
pub(crate) fn server_names(
    gateway: &Gateway,
    catalog: &Catalog,
    caller: &Caller,
) -> Option<String> {
    let tools = tools_by_provider(gateway, catalog, caller);
    let count = |name: &str| tools.get(name).map_or(0, Vec::len);
    let providers = gateway.providers.iter().map(kitbag_apis::Provider::spec);
    let providers = providers.filter(|it| gateway.is_server_visible(catalog, caller, &it.name));
    let names = visible_servers(gateway, catalog, caller).map(|it| it.as_str().to_owned());
    let names: BTreeSet<String> = names
        .chain(providers.map(|it| it.name.to_string()))
        .chain(tools.keys().map(|it| (*it).to_owned()))
        .collect();
    let rows: Vec<GuideRow> = names
        .into_iter()
        .map(|name| guide_row(&name, None, count(&name)))
        .collect();
    (!rows.is_empty()).then(|| kitbag_budget::write_guide(rows, NAMES_TOKENS))
}

/// Returns the servers and APIs that a caller may know of, and the purpose of each. Depends only on
/// the configuration and the servers' lists: neither on which servers run nor on their start order.
/// Every list of a small surface contains it, so the catalog caches it.
pub(crate) fn guide_for(gateway: &Gateway, catalog: &Catalog, caller: &Caller) -> Option<Arc<str>> {
    let make = || write_guide_for(gateway, catalog, caller).map(Arc::from);
    catalog.guides.get_or_compute(caller, make)
}

fn write_guide_for(gateway: &Gateway, catalog: &Catalog, caller: &Caller) -> Option<String> {
    let tools = tools_by_provider(gateway, catalog, caller);
    let mut rows: BTreeMap<&str, GuideRow> = BTreeMap::new();
    for (provider, tools) in &tools {
        rows.insert(provider, tools_row(provider, tools));
    }
    for name in visible_servers(gateway, catalog, caller) {
        let tools = tools.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        rows.insert(name.as_str(), server_row(gateway, catalog, name, tools));
    }
    for provider in gateway.providers.iter() {
        let spec = provider.spec();
        if gateway.is_server_visible(catalog, caller, &spec.name) {
            let description = spec.description.as_deref();
            let about = description.and_then(|text| summarize_text(text, spec.name.as_str()));
            let about = about.or_else(|| Some(format!("HTTP API of {}", spec.url.host_str()?)));
            rows.insert(spec.name.as_str(), guide_row(spec.name.as_str(), about, 1));
        }
    }
    let rows: Vec<GuideRow> = rows.into_values().collect();
    (!rows.is_empty()).then(|| kitbag_budget::write_guide(rows, GUIDE_TOKENS))
}

/// Returns the servers that the caller may know of, except the built-in ones.
fn visible_servers<'a>(
    gateway: &'a Gateway,
    catalog: &Catalog,
    caller: &Caller,
) -> impl Iterator<Item = &'a ServerName> {
    let servers = gateway.upstreams.iter().map(|server| server.name());
    servers
        .filter(|name| !gateway.is_built_in(name))
        .filter(move |name| gateway.is_server_visible(catalog, caller, name))
        .filter(|name| has_tools(catalog, name))
}

/// False for a server without known tools, such as one that cannot be started.
fn has_tools(catalog: &Catalog, name: &ServerName) -> bool {
    let listing = catalog.listing(name);
    listing.is_some_and(|listing| !listing.tools.is_empty())
}

/// Returns the tools that the caller may see, except tools that Kitbag itself executes.
fn tools_by_provider<'a>(
    gateway: &Gateway,
    catalog: &'a Catalog,
    caller: &Caller,
) -> BTreeMap<&'a str, Vec<&'a CatalogEntry>> {
    let mut tools: BTreeMap<&str, Vec<&CatalogEntry>> = BTreeMap::new();
    for entry in &catalog.tools {
        let is_ours = match &entry.tool_file {
            Some(file) => !matches!(file.executor, FileToolExecutor::Api(_)),
            None => gateway.is_built_in(&entry.capability.server),
        };
        if !is_ours && gateway.policy.is_visible(caller, &entry.capability) {
            tools
                .entry(entry.server_or_provider())
                .or_default()
                .push(entry);
        }
    }
    tools
}

/// Prefers the operator's description, then the server's, then that of its tools. A lock covers a
/// server's tools but not its own description, so for a locked server the latter is skipped.
fn server_row(
    gateway: &Gateway,
    catalog: &Catalog,
    name: &ServerName,
    tools: &[&CatalogEntry],
) -> GuideRow {
    let server = gateway.upstreams.get(name);
    let declared = server.and_then(|it| it.spec().description.clone());
    let declared = declared.map(|text| kitbag_domain::text::first_sentence(&text));
    let is_locked = gateway.lock.requires_approval(name);
    let about = declared
        .or_else(|| self_description(catalog, name).filter(|_| !is_locked))
        .or_else(|| describe_tools(name.as_str(), tools));
    guide_row(name.as_str(), about, tools.len())
}

/// Returns a server's description of itself from its `initialize` result.
fn self_description(catalog: &Catalog, name: &ServerName) -> Option<String> {
    let listing = catalog.listing(name)?;
    let info = listing.server_info.as_ref();
    let info = info.and_then(|info| RawObject::open(info).ok());
    let info = info.unwrap_or_default();
    let candidates = [
        info.read("description"),
        listing.instructions.clone(),
        info.read("title"),
    ];
    let mut candidates = candidates.into_iter().flatten();
    candidates.find_map(|text: String| summarize_text(&text, name.as_str()))
}

fn tools_row(provider: &str, tools: &[&CatalogEntry]) -> GuideRow {
    guide_row(provider, describe_tools(provider, tools), tools.len())
}

/// Summarizes the subjects of the tools' names. If there are few tools, or their names add nothing
/// to the server's name, uses their descriptions.
fn describe_tools(provider: &str, tools: &[&CatalogEntry]) -> Option<String> {
    let names = tools.iter().map(|it| it.capability.name.as_str());
    let name_summary =
        summarize_tool_names(names, provider).filter(|it| adds_to_name(it, provider));
    if tools.len() <= FEW_TOOLS || name_summary.is_none() {
        let described = tools.iter().filter_map(|tool| {
            let definition = RawObject::open(&tool.definition).ok()?;
            let text: String = definition.read("description")?;
            Some((tool.capability.name.as_str(), text))
        });
        let described: BTreeMap<&str, String> = described.collect();
        let description_summary =
            summarize_descriptions(described.values().map(String::as_str), provider);
        return description_summary.or(name_summary);
    }
    name_summary
}

/// At most this many tools are described by their descriptions.
const FEW_TOOLS: usize = 3;

fn guide_row(name: &str, about: Option<String>, tools: usize) -> GuideRow {
    GuideRow {
        name: name.to_owned(),
        about: about.unwrap_or_default(),
        tools,
    }
}
