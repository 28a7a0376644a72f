//! The tools and instructions that a client of a surface starts with.

use std::sync::Arc;

use kitbag_domain::{Caller, ServerName, Surface};
use kitbag_wire::{Raw, RawObject};

use super::tool_choice;
use super::tools::AlwaysOnTool;
use crate::call::observe;
use crate::catalog::Catalog;
use crate::front::guide::{guide_for, server_names};
use crate::state::gateway::Gateway;
use crate::turn::Turn;
use crate::turn::view::View;

/// Returns the tools that a small surface lists, which always fit one page.
pub(crate) async fn surface_tools(turn: &Turn, surface: Surface) -> Raw {
    let mut definitions = always_on_tools(turn);
    if surface == Surface::Adaptive {
        let shown = tool_choice::choose_tools(turn).await;
        observe::report_surfaced_tools(turn, shown.iter().map(|it| it.exposed.as_str()));
        definitions.extend(
            shown
                .into_iter()
                .map(|it| without_output_schema(&it.definition)),
        );
    }
    RawObject::new().with("tools", &definitions).to_raw()
}

/// Returns the always-on tools that the client sees.
pub(crate) fn always_on_tools(turn: &Turn) -> Vec<Raw> {
    let View::Merged(surface) = turn.view else {
        return Vec::new();
    };
    let guide = surface
        .truncates_answers()
        .then(|| current_guide(turn))
        .flatten();
    let behind = guide_sentence(turn, surface, guide);
    let tools = AlwaysOnTool::ALL.into_iter();
    tools
        .filter(|tool| tool.is_on(surface, &turn.gateway.code))
        .map(|tool| definition_with_guide(tool, surface, behind.as_deref()))
        .collect()
}

/// Returns the guide to the servers behind the search, and records it, so that its changes are
/// announced.
fn current_guide(turn: &Turn) -> Option<Arc<str>> {
    let guide = guide_for(&turn.gateway, &turn.catalog, turn.caller());
    let announced = &turn.gateway.services.announced_guides;
    announced.remember_first(turn.caller(), guide.as_deref());
    guide
}

/// Returns the guide as a sentence for the tool that finds others; on the cheapest surface, only
/// names.
fn guide_sentence(turn: &Turn, surface: Surface, guide: Option<Arc<str>>) -> Option<String> {
    match surface {
        Surface::Code => {
            let names = server_names(&turn.gateway, &turn.catalog, turn.caller())?;
            Some(format!("Behind it: {names}."))
        }
        _ => Some(format!(
            "Behind it, as the servers describe themselves: {}.",
            guide?
        )),
    }
}

/// Returns the tool that finds other tools on a surface.
fn finder_tool(surface: Surface) -> Option<AlwaysOnTool> {
    match surface {
        Surface::Search | Surface::Adaptive => Some(AlwaysOnTool::Search),
        Surface::Code => Some(AlwaysOnTool::RunIntent),
        Surface::All => None,
    }
}

/// Returns the definition of an always-on tool, with the guide if it is the one that finds others.
fn definition_with_guide(tool: AlwaysOnTool, surface: Surface, behind: Option<&str>) -> Raw {
    let definition = tool.definition();
    match behind.filter(|_| finder_tool(surface) == Some(tool)) {
        None => definition.clone(),
        Some(behind) => {
            let mut object = RawObject::open(definition).unwrap_or_default();
            let own: String = object.read("description").unwrap_or_default();
            let own = own.trim_end_matches('.');
            object.put("description", &format!("{own}. {behind}"));
            object.to_raw()
        }
    }
}

/// A truncated result loses its structured content, so no output schema is listed.
fn without_output_schema(definition: &Raw) -> Raw {
    let Ok(mut object) = RawObject::open(definition) else {
        return definition.clone();
    };
    match object.remove("outputSchema") {
        Some(_) => object.to_raw(),
        None => definition.clone(),
    }
}

/// Returns the gateway's instructions. Every word costs tokens in every context, so a small
/// surface has few. Servers hidden from the caller are neither named nor counted.
pub(crate) fn surface_instructions(
    gateway: &Gateway,
    catalog: &Catalog,
    caller: &Caller,
    surface: Surface,
) -> Option<String> {
    let servers = gateway.upstreams.iter().map(|server| server.name());
    let servers: Vec<&ServerName> = visible_servers(gateway, catalog, caller, servers).collect();
    let apis = visible_servers(gateway, catalog, caller, gateway.providers.names()).count();
    let count = servers.len() + apis;
    match surface {
        _ if count == 0 => None,
        Surface::All => {
            let names: Vec<_> = servers.iter().map(|name| name.as_str()).collect();
            Some(format!(
                "Kitbag puts {} behind one endpoint. Names begin with their server: <server>__<name>.",
                names.join(", ")
            ))
        }
        // Its two tools are self-explanatory.
        Surface::Code => None,
        Surface::Search | Surface::Adaptive => Some(format!(
            "The tools of {count} servers and APIs. search_available_tools finds tools, call_api runs them. \
             Search before you refuse."
        )),
    }
}

fn visible_servers<'a>(
    gateway: &Gateway,
    catalog: &Catalog,
    caller: &Caller,
    names: impl Iterator<Item = &'a ServerName>,
) -> impl Iterator<Item = &'a ServerName> {
    names.filter(|name| gateway.is_server_visible(catalog, caller, name))
}
