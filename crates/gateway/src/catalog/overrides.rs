//! The operator's overrides of servers' tools: changed descriptions and names, hidden tools, and
//! fixed or hidden arguments.
//!
//! Policy, audit and the server itself use the server's own names.

use std::borrow::Cow;

use kitbag_config::ToolOverride;
use kitbag_domain::{Capability, ExposedName, Kind};
use kitbag_wire::{Raw, RawObject};

use crate::call::failure::Failure;
use crate::call::resolve::{CallTarget, Executor, McpTarget};
use crate::catalog::Catalog;
use crate::catalog::catalog_entry::definition_override;
use crate::state::gateway::Gateway;
use crate::turn::Turn;

/// Returns the operator's override of a tool, if there is one.
fn find_override<'g>(
    gateway: &'g Gateway,
    catalog: &Catalog,
    capability: &Capability,
) -> Option<&'g ToolOverride> {
    if capability.kind != Kind::Tool || gateway.overrides.is_empty() {
        return None;
    }
    match catalog.find_tool(capability) {
        Some(entry) => gateway.overrides.get(&entry.plain_name),
        None => {
            let name = ExposedName::new(&capability.server, &capability.name);
            gateway.overrides.get(name.as_str())
        }
    }
}

fn override_for<'t>(turn: &'t Turn, capability: &Capability) -> Option<&'t ToolOverride> {
    find_override(&turn.gateway, &turn.catalog, capability)
}

/// True for a tool that the operator hides from all clients.
pub(crate) fn is_hidden(turn: &Turn, capability: &Capability) -> bool {
    override_for(turn, capability).is_some_and(|declared| declared.hidden)
}

/// Returns the overrides that do not match their tools, by the tool's name, with the reasons. They
/// apply all the same: an argument may be fixed for safety.
pub(crate) fn find_override_problems(
    gateway: &Gateway,
    catalog: &Catalog,
) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for (server, listing) in catalog.listings() {
        for tool in &listing.tools {
            let Some(object) = RawObject::open(tool).ok() else {
                continue;
            };
            let name: String = object.read("name").unwrap_or_default();
            let capability = Capability::tool(server.clone(), name.as_str());
            let Some(declared) = find_override(gateway, catalog, &capability) else {
                continue;
            };
            let name = ExposedName::new(server, &name).to_string();
            let found = definition_override(declared).problems(&object, &gateway.services.checker);
            let entry = catalog.find_tool(&capability);
            let taken = declared
                .alias
                .as_ref()
                .filter(|alias| entry.is_some_and(|entry| entry.exposed != **alias));
            let taken = taken.map(|alias| format!("another tool is already called `{alias}`"));
            problems.extend(
                found
                    .into_iter()
                    .chain(taken)
                    .map(|problem| (name.clone(), problem)),
            );
        }
    }
    problems
}

/// Applies the operator's override to a definition from a server's own list.
pub(crate) fn override_definition<'d>(
    turn: &Turn,
    capability: &Capability,
    definition: &'d Raw,
) -> Cow<'d, Raw> {
    let declared = override_for(turn, capability).filter(|declared| declared.changes_definition());
    match (declared, RawObject::open(definition)) {
        (Some(declared), Ok(mut object)) => {
            definition_override(declared).apply(&mut object);
            Cow::Owned(object.to_raw())
        }
        _ => Cow::Borrowed(definition),
    }
}

/// Rejects arguments that the operator has hidden, and removes the fixed ones. For a
/// tool-file call the fixed values are added at once, since the file's schema declares them.
pub(crate) fn strip_fixed_arguments(turn: &Turn, target: &mut CallTarget) -> Result<(), Failure> {
    let Some(declared) = override_for(turn, &target.capability) else {
        return Ok(());
    };
    let form = definition_override(declared);
    match &mut target.executor {
        Executor::Mcp(call) => {
            let Some(mut arguments) = call.outbound.params.get_object("arguments") else {
                return Ok(());
            };
            if form.strip(&mut arguments).map_err(Failure::bad_params)? {
                call.outbound.params.put("arguments", &arguments);
            }
        }
        Executor::ToolFile(call) => {
            let mut arguments = RawObject::open(&call.arguments).unwrap_or_default();
            form.strip(&mut arguments).map_err(Failure::bad_params)?;
            form.complete(&mut arguments);
            call.arguments = arguments.to_raw();
        }
        Executor::Api(_) => {}
    }
    Ok(())
}

/// Adds the arguments that the operator fixes.
pub(crate) fn add_fixed_arguments(turn: &Turn, capability: &Capability, call: &mut McpTarget) {
    let declared = override_for(turn, capability);
    let Some(declared) = declared.filter(|it| !it.fixed_arguments.is_empty()) else {
        return;
    };
    let params = &mut call.outbound.params;
    let mut arguments = params.get_object("arguments").unwrap_or_default();
    definition_override(declared).complete(&mut arguments);
    params.put("arguments", &arguments);
}

#[cfg(test)]
mod tests {
    use crate::surface::tools::AlwaysOnTool;

    #[test]
    fn no_alias_can_take_the_name_of_an_always_on_tool() {
        let own = AlwaysOnTool::ALL.map(AlwaysOnTool::name);
        assert_eq!(own, kitbag_config::RESERVED_TOOL_NAMES);
    }
}
