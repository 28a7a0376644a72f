//! Resolves the tool that a program names.

use kitbag_domain::ExposedName;
use kitbag_sandbox::ToolPath;
use kitbag_wire::{Raw, RawObject, raw};

use crate::call::failure::Failure;
use crate::call::resolve;
use crate::catalog::CatalogEntry;
use crate::surface::groups;
use crate::surface::parse_arguments::parse_arguments;
use crate::surface::request::{ApiRequest, remainder_page};
use crate::surface::tools::AlwaysOnTool;
use crate::turn::Turn;

/// The target of a program's call.
pub(super) enum CalledTool {
    Tool {
        name: String,
        arguments: Raw,
    },
    /// `call("call_api", …)`, or `tools.<provider>.request(…)`.
    Request(ApiRequest),
}

pub(super) fn resolve_path(
    turn: &Turn,
    path: &ToolPath,
    arguments: Raw,
) -> Result<CalledTool, Failure> {
    if let ToolPath::Exposed(name) = path
        && name == AlwaysOnTool::Call.name()
    {
        return api_request(turn, &arguments);
    }
    if let ToolPath::Member { server, tool } = path
        && let Some(provider) = find_provider(turn, server)
    {
        return api_request(turn, &add_provider(&arguments, &provider, tool)?);
    }
    // An unknown name takes the same path as one that is hidden from the caller, who must not be
    // able to distinguish them.
    let name = exposed_name(turn, path).unwrap_or_else(|_| name_as_written(path));
    Ok(CalledTool::Tool { name, arguments })
}

/// Returns the name under which clients know the tool.
pub(super) fn exposed_name(turn: &Turn, path: &ToolPath) -> Result<String, Failure> {
    let written = name_as_written(path);
    if turn.catalog.tool(&written).is_some() {
        return Ok(written);
    }
    let mut matching = groups::visible_tools(turn).filter(|entry| matches_path(entry, path));
    match (matching.next(), matching.next()) {
        (Some(entry), None) => Ok(entry.exposed.clone()),
        _ => Err(resolve::unknown_tool(turn, &written)),
    }
}

/// Returns the tool, if the caller may know of it.
pub(super) fn visible_entry<'a>(
    turn: &'a Turn,
    path: &ToolPath,
) -> Result<&'a CatalogEntry, Failure> {
    let name = exposed_name(turn, path)?;
    let entry = turn.catalog.tool(&name);
    let visible = entry.filter(|entry| turn.can_see(&entry.capability));
    visible.ok_or_else(|| resolve::unknown_tool(turn, &name))
}

/// Returns the name by which clients would know the tool, if the program has spelled it as the
/// server does.
fn name_as_written(path: &ToolPath) -> String {
    let (server, tool) = match path {
        ToolPath::Exposed(name) => return name.clone(),
        ToolPath::Member { server, tool } => (server, tool),
    };
    match server.parse() {
        Ok(server) => ExposedName::new(&server, tool).as_str().to_owned(),
        Err(_) => format!("{server}.{tool}"),
    }
}

/// Names of servers and tools contain characters that JavaScript identifiers may not contain.
fn matches_path(entry: &CatalogEntry, path: &ToolPath) -> bool {
    let capability = &entry.capability;
    match path {
        ToolPath::Exposed(name) => {
            let dotted = format!("{}.{}", capability.server, capability.name);
            fold_identifier(&entry.exposed) == fold_identifier(name)
                || fold_identifier(&dotted) == fold_identifier(name)
        }
        ToolPath::Member { server, tool } => {
            fold_identifier(capability.server.as_str()) == fold_identifier(server)
                && fold_identifier(&capability.name) == fold_identifier(tool)
        }
    }
}

/// Converts a name to an identifier.
fn fold_identifier(name: &str) -> String {
    let letters = name
        .chars()
        .map(|it| if it.is_alphanumeric() { it } else { '_' });
    letters.flat_map(char::to_lowercase).collect()
}

fn find_provider(turn: &Turn, name: &str) -> Option<String> {
    let mut providers = resolve::visible_providers(turn).into_iter();
    providers.find(|provider| fold_identifier(provider) == fold_identifier(name))
}

/// `tools.crm.get({ path })` is a request with that method, and `tools.crm.request({ … })` one that
/// names its method itself.
fn add_provider(arguments: &Raw, provider: &str, method: &str) -> Result<Raw, Failure> {
    let object = RawObject::open(arguments).map_err(|_| {
        Failure::bad_params("a request is an object with method, path, query and body")
    })?;
    let object = object.with("provider", provider);
    Ok(match method {
        "request" => object.to_raw(),
        method => object.with("method", method).to_raw(),
    })
}

fn api_request(turn: &Turn, arguments: &Raw) -> Result<CalledTool, Failure> {
    let checker = &turn.gateway.services.checker;
    let (request_arguments, _) = parse_arguments(checker, AlwaysOnTool::Call, Some(arguments))?;
    Ok(CalledTool::Request(ApiRequest::from_arguments(
        request_arguments,
    )?))
}

/// Returns a page of the remainder of an earlier result.
pub(super) fn remainder_value(turn: &Turn, result: String, offset: usize) -> Result<Raw, Failure> {
    let tokens = turn.gateway.surfaces.result_tokens;
    let page = remainder_page(turn, result, offset, tokens)?;
    Ok(raw(&page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_identifiers() {
        assert_eq!(
            fold_identifier("my-server.Get User"),
            fold_identifier("my_server_get_user")
        );
        assert_ne!(
            fold_identifier("getUser"),
            fold_identifier("get_user"),
            "these can be two tools of one server"
        );
    }
}
