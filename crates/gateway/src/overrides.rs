//! Other people's tools as the operator wants them: with other words and names, hidden, or with
//! arguments that no client chooses.
//!
//! Policy, audit and the server itself go on with the server's own names.

use std::borrow::Cow;

use kitbag_config::DeclaredTool;
use kitbag_domain::{Capability, ExposedName, Kind};
use kitbag_schema::DefinitionOverride;
use kitbag_wire::{Raw, RawObject};
use serde_json::Value;

use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::resolve::{CallTarget, Executor, McpTarget};

/// The part of a declaration that changes a definition.
pub(crate) fn of(declared: &DeclaredTool) -> DefinitionOverride<'_> {
    DefinitionOverride {
        description: declared.description.as_deref(),
        fixed: &declared.fixed_arguments,
        hidden: &declared.hidden_arguments,
    }
}

/// The declaration of a tool, if the operator made one.
pub(crate) fn declared<'g>(
    gateway: &'g Gateway,
    capability: &Capability,
) -> Option<&'g DeclaredTool> {
    if capability.kind != Kind::Tool || gateway.declared.is_empty() {
        return None;
    }
    let catalog = gateway.catalog();
    match catalog.tool_of(capability) {
        Some(entry) => gateway.declared.get(&entry.plain_name),
        None => {
            let name = ExposedName::new(&capability.server, &capability.name);
            gateway.declared.get(name.as_str())
        }
    }
}

/// True for a tool that the operator shows to no client.
pub(crate) fn is_hidden(gateway: &Gateway, capability: &Capability) -> bool {
    declared(gateway, capability).is_some_and(|declared| declared.hidden)
}

/// Returns the declarations that do not fit their tools, by the name of the tool, and why. They hold all
/// the same: an argument may be fixed for safety.
pub(crate) fn problems(gateway: &Gateway) -> Vec<(String, String)> {
    let catalog = gateway.catalog();
    let mut problems = Vec::new();
    for (server, listing) in catalog.listings() {
        for tool in &listing.tools {
            let Some(object) = RawObject::open(tool).ok() else {
                continue;
            };
            let name: String = object.read("name").unwrap_or_default();
            let Some(declared) =
                declared(gateway, &Capability::tool(server.clone(), name.as_str()))
            else {
                continue;
            };
            let name = ExposedName::new(server, &name).to_string();
            let found = of(declared).problems(&object, &gateway.services.checker);
            problems.extend(found.into_iter().map(|problem| (name.clone(), problem)));
        }
    }
    problems
}

/// A definition of a server's own list as clients are to see it.
pub(crate) fn presented<'d>(
    gateway: &Gateway,
    capability: &Capability,
    definition: &'d Raw,
) -> Cow<'d, Raw> {
    let declared = declared(gateway, capability).filter(|declared| declared.changes_definition());
    match (declared, RawObject::open(definition)) {
        (Some(declared), Ok(mut object)) => {
            of(declared).apply(&mut object);
            Cow::Owned(object.to_raw())
        }
        _ => Cow::Borrowed(definition),
    }
}

/// Refuses arguments that the operator has hidden, and takes out those that the operator fixes.
pub(crate) fn strip(gateway: &Gateway, target: &mut CallTarget) -> Result<(), Failure> {
    let capability = &target.capability;
    let (Some(declared), Executor::Mcp(call)) =
        (declared(gateway, capability), &mut target.executor)
    else {
        return Ok(());
    };
    let Some(mut arguments) = call.outbound.params.object("arguments") else {
        return Ok(());
    };
    for name in &declared.hidden_arguments {
        if arguments.contains(name) && !declared.fixed_arguments.contains_key(name) {
            let reason = format!("`{name}` is no argument of this tool here; leave it out");
            return Err(Failure::params(reason));
        }
    }
    if arguments
        .iter()
        .any(|(name, _)| declared.fixed_arguments.contains_key(name))
    {
        for name in declared.fixed_arguments.keys() {
            arguments.remove(name);
        }
        call.outbound.params.put("arguments", &arguments);
    }
    Ok(())
}

/// Puts in the arguments that the operator fixes.
pub(crate) fn complete(gateway: &Gateway, capability: &Capability, call: &mut McpTarget) {
    let Some(declared) = declared(gateway, capability) else {
        return;
    };
    if declared.fixed_arguments.is_empty() {
        return;
    }
    let params = &mut call.outbound.params;
    let mut arguments = params.object("arguments").unwrap_or_default();
    for (name, value) in &declared.fixed_arguments {
        arguments.put::<Value>(name, value);
    }
    params.put("arguments", &arguments);
}

#[cfg(test)]
mod tests {
    use crate::surface::tools::AlwaysOn;

    #[test]
    fn no_alias_can_take_the_name_of_a_tool_of_ours() {
        let own = AlwaysOn::ALL.map(AlwaysOn::name);
        assert_eq!(own, kitbag_config::RESERVED_TOOL_NAMES);
    }
}
