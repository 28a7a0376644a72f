//! Resolves a client's name to the server or API and to that server's own name.

use std::sync::Arc;

use kitbag_apis::{Provider, ProviderCall};
use kitbag_domain::{Capability, ExposedName, Kind, NanoUsd, ServerName};
use kitbag_upstream::{Listing, OutboundRequest, Server};
use kitbag_wire::RawObject;

use crate::call::failure::Failure;
use crate::call::tool_file_call::ToolFileTarget;
use crate::call::unapproved;
use crate::call::{ApiCall, Call, CallSubject, McpCall};
use crate::catalog::resources::{Route, mark_uri};
use crate::front::completion::{self, CompletionReference};
use crate::turn::Turn;
use crate::turn::view::View;

/// The subject of a call, and its executor.
pub(crate) struct CallTarget {
    pub(crate) capability: Capability,
    pub(crate) executor: Executor,
}

pub(crate) enum Executor {
    Mcp(McpTarget),
    Api(ApiTarget),
    ToolFile(ToolFileTarget),
}

/// A call to an MCP server, in the server's own names.
pub(crate) struct McpTarget {
    pub(crate) server: Arc<Server>,
    /// The subject as the caller named it, for errors.
    pub(crate) subject: CallSubject,
    pub(crate) outbound: OutboundRequest,
    /// The resource template with the completion's known values filled in.
    pub(crate) filled: Option<Capability>,
}

/// A request to an HTTP API. Policy knows it as `<provider>/<METHOD> <path>`.
pub(crate) struct ApiTarget {
    pub(crate) provider: Arc<Provider>,
    pub(crate) request: ProviderCall,
}

impl CallTarget {
    /// Returns the arguments of a tool or prompt, or the body of a request, as JSON.
    pub(crate) fn arguments(&self) -> Option<&str> {
        match &self.executor {
            Executor::Mcp(target) => Some(target.outbound.params.get("arguments")?.get()),
            Executor::Api(target) => Some(target.request.body.as_ref()?.get()),
            Executor::ToolFile(target) => Some(target.arguments.get()),
        }
    }

    /// Returns the price that the execution reported.
    pub(crate) fn observed_price(&self) -> Option<NanoUsd> {
        match &self.executor {
            Executor::ToolFile(target) => target.observed_price,
            Executor::Mcp(_) | Executor::Api(_) => None,
        }
    }
}

/// On success the call's parameters are moved into the target; on failure the call keeps its name
/// for the error.
pub(crate) fn resolve(turn: &Turn, call: &mut Call) -> Result<CallTarget, Failure> {
    match call {
        Call::Mcp(call) => resolve_mcp(turn, call),
        Call::Api(call) => resolve_api(turn, call),
    }
}

fn resolve_api(turn: &Turn, call: &ApiCall) -> Result<CallTarget, Failure> {
    let ApiCall { provider, request } = call;
    let found = provider.parse().ok();
    let found = found.and_then(|name| turn.gateway.providers.get(&name));
    let provider = found
        .cloned()
        .ok_or_else(|| unknown_provider(turn, provider.clone()))?;
    Ok(CallTarget {
        capability: Capability::tool(provider.spec().name.clone(), request.subject()),
        executor: Executor::Api(ApiTarget {
            provider,
            request: request.clone(),
        }),
    })
}

fn resolve_mcp(turn: &Turn, call: &mut McpCall) -> Result<CallTarget, Failure> {
    let McpCall { subject, params } = call;
    reject_lookalikes(params)?;
    if let Some(target) = resolve_tool_file(turn, subject, params) {
        return Ok(target);
    }
    let capability = resolve_capability(turn, subject, params)?;
    let filled = match subject {
        CallSubject::Completion(_) => completion::rewrite_reference(&capability, params),
        _ => None,
    };
    let server = find_server(turn, &capability.server)?;
    Ok(CallTarget {
        capability,
        executor: Executor::Mcp(McpTarget {
            server,
            outbound: OutboundRequest {
                method: subject.method().to_owned(),
                params: std::mem::take(params),
                client: turn.client.profile(),
                approval: None,
            },
            subject: subject.clone(),
            filled,
        }),
    })
}

/// Resolves a tool from a tool file. Single-server routes have none.
fn resolve_tool_file(
    turn: &Turn,
    subject: &CallSubject,
    params: &mut RawObject,
) -> Option<CallTarget> {
    let (View::Merged(_), CallSubject::Tool(name)) = (&turn.view, subject) else {
        return None;
    };
    let entry = turn.catalog.tool(name)?;
    let tool = entry.tool_file.clone()?;
    Some(CallTarget {
        capability: entry.capability.clone(),
        executor: Executor::ToolFile(ToolFileTarget::new(tool, params)),
    })
}

fn find_server(turn: &Turn, name: &ServerName) -> Result<Arc<Server>, Failure> {
    let found = turn.gateway.upstreams.get(name).cloned();
    found.ok_or_else(|| Failure::UnknownServer {
        server: name.to_string(),
    })
}

/// Resolves the capability and puts its own name into the parameters.
fn resolve_capability(
    turn: &Turn,
    subject: &CallSubject,
    params: &mut RawObject,
) -> Result<Capability, Failure> {
    match (&turn.view, subject) {
        (_, CallSubject::Task(_, id)) => resolve_task(turn, id, params),
        (View::Server(server), subject) => Ok(resolve_on_one_server(server, subject)),
        (View::Merged(_), subject) => resolve_merged(turn, subject, params),
    }
}

/// On a single-server route the names are the server's own and need no lookup.
fn resolve_on_one_server(server: &ServerName, subject: &CallSubject) -> Capability {
    let (kind, name) = subject.kind_and_name();
    Capability {
        server: server.clone(),
        kind,
        name: name.to_owned(),
    }
}

fn resolve_merged(
    turn: &Turn,
    subject: &CallSubject,
    params: &mut RawObject,
) -> Result<Capability, Failure> {
    match subject {
        CallSubject::Tool(name) => {
            let capability = resolve_tool(turn, name)?;
            params.put("name", &capability.name);
            Ok(capability)
        }
        CallSubject::Prompt(name) => {
            let capability = resolve_prompt(turn, name)?;
            params.put("name", &capability.name);
            Ok(capability)
        }
        CallSubject::Resource(uri) | CallSubject::Skill(uri) | CallSubject::Directory(uri) => {
            let capability = resolve_resource(turn, uri)?;
            params.put("uri", &capability.name);
            Ok(capability)
        }
        CallSubject::Completion(CompletionReference::Prompt(name)) => resolve_prompt(turn, name),
        CallSubject::Completion(CompletionReference::Resource(uri)) => {
            let visible = |it: &Capability| turn.can_see(it);
            only_owner(
                turn,
                turn.catalog.routes().route_template(uri, &visible),
                uri,
            )
        }
        CallSubject::List(_) | CallSubject::Task(..) => Err(Failure::UnknownMethod {
            method: subject.method().to_owned(),
        }),
    }
}

fn resolve_tool(turn: &Turn, name: &str) -> Result<Capability, Failure> {
    match turn.catalog.tool(name) {
        Some(entry) => Ok(entry.capability.clone()),
        None => unlisted_tool(turn, name).ok_or_else(|| unknown_tool(turn, name)),
    }
}

fn resolve_prompt(turn: &Turn, name: &str) -> Result<Capability, Failure> {
    let entry = turn.catalog.prompt(name);
    let entry = entry.ok_or_else(|| unknown_prompt(turn, name))?;
    Ok(entry.capability.clone())
}

/// Resolves a URI to the resource that this caller means.
pub(crate) fn resolve_resource(turn: &Turn, uri: &str) -> Result<Capability, Failure> {
    let visible = |it: &Capability| turn.can_see(it);
    only_owner(
        turn,
        turn.catalog.routes().route_resource(uri, &visible),
        uri,
    )
}

/// Returns the only server to which a URI leads.
fn only_owner(turn: &Turn, route: Route, uri: &str) -> Result<Capability, Failure> {
    let uri = uri.to_owned();
    match route {
        Route::To(capability) => Ok(capability),
        Route::Contested(owners) => Err(Failure::ContestedResource {
            uri,
            forms: owners.iter().map(mark_uri).collect(),
        }),
        Route::Nowhere => Err(unknown_resource(turn, uri)),
    }
}

/// A task belongs to the tool that created it and to the tenant who called the tool.
fn resolve_task(turn: &Turn, id: &str, params: &mut RawObject) -> Result<Capability, Failure> {
    let tenant = &turn.caller().tenant;
    let tasks = &turn.gateway.services.tasks;
    let found = match &turn.view {
        View::Server(server) => tasks.find_by_server_id(tenant, server, id),
        View::Merged(_) => tasks
            .find_by_exposed_id(tenant, id)
            .map(|(capability, own)| {
                params.put("taskId", &own);
                capability
            }),
    };
    found.ok_or_else(|| unknown_task(id))
}

/// A client may know a name from an earlier session, while the server is not listed yet or cannot
/// be started. Then the server's own answer is more accurate than "unknown tool".
fn unlisted_tool(turn: &Turn, exposed: &str) -> Option<Capability> {
    let (server, tool) = ExposedName::split(exposed)?;
    let server: ServerName = server.parse().ok()?;
    let listing = turn.gateway.upstreams.get(&server)?.listing();
    // The server may have been listed after this request took its catalog snapshot.
    let may_exist = listing.is_none_or(|listing| lists_tool(&listing, tool));
    let capability = Capability::tool(server, tool);
    (may_exist && turn.can_see(&capability)).then_some(capability)
}

fn lists_tool(listing: &Listing, name: &str) -> bool {
    let names = listing
        .tools
        .iter()
        .filter_map(|tool| RawObject::peek_member(tool, "name"));
    let mut names = names.filter_map(|name| serde_json::from_str::<String>(name.get()).ok());
    names.any(|listed| listed == name)
}

/// Returns the error for a capability that no server offers or that is hidden from the caller.
pub(crate) fn unknown(turn: &Turn, subject: &CallSubject) -> Failure {
    match (subject, subject.kind_and_name()) {
        (CallSubject::Task(_, id), _) => unknown_task(id),
        (_, (Kind::Tool, name)) => unknown_tool(turn, name),
        (_, (Kind::Prompt, name)) => unknown_prompt(turn, name),
        (_, (Kind::Resource, uri)) => Failure::UnknownResource {
            uri: uri.to_owned(),
        },
    }
}

/// Returns the error for a URI that leads to no server: its definition is unapproved, or there is
/// none.
fn unknown_resource(turn: &Turn, uri: String) -> Failure {
    unapproved::unapproved_uri(turn, &uri).unwrap_or(Failure::UnknownResource { uri })
}

fn unknown_prompt(turn: &Turn, name: &str) -> Failure {
    let unknown = || Failure::UnknownPrompt {
        name: name.to_owned(),
    };
    unapproved::unapproved_prompt(turn, name).unwrap_or_else(unknown)
}

/// Returns the error for a name that is not in the catalog: the tool is unapproved or unknown.
pub(crate) fn unknown_tool(turn: &Turn, name: &str) -> Failure {
    unapproved::unapproved_tool(turn, name).unwrap_or_else(|| no_such_tool(turn, name))
}

fn no_such_tool(turn: &Turn, name: &str) -> Failure {
    let tools = turn.catalog.tools.iter();
    let names = tools
        .filter(|entry| turn.can_see(&entry.capability))
        .filter_map(|entry| match &turn.view {
            View::Merged(_) => Some(entry.exposed.as_str()),
            View::Server(server) => {
                (entry.capability.server == *server).then_some(entry.capability.name.as_str())
            }
        });
    let near = kitbag_domain::near_names(name, names);
    Failure::UnknownTool {
        name: name.to_owned(),
        near: near.into_iter().map(str::to_owned).collect(),
    }
}

fn unknown_task(id: &str) -> Failure {
    Failure::bad_params(format!("there is no task `{id}`"))
}

pub(crate) fn unknown_provider(turn: &Turn, provider: String) -> Failure {
    Failure::UnknownProvider {
        provider,
        known: visible_providers(turn),
    }
}

/// Returns the HTTP APIs that this caller may see.
pub(crate) fn visible_providers(turn: &Turn) -> Vec<String> {
    let names = turn.gateway.providers.names();
    let visible = names.filter(|name| turn.can_see_server(name));
    visible.map(ToString::to_string).collect()
}

/// Some servers ignore the case of member names, and use the last of several duplicates. The server
/// must read the same members on which the gateway based its decision, so other spellings of those
/// members are rejected.
fn reject_lookalikes(params: &RawObject) -> Result<(), Failure> {
    const DECIDING: [&str; 5] = ["name", "uri", "ref", "taskId", "arguments"];
    match params
        .iter()
        .find_map(|(member, _)| find_lookalike(member, &DECIDING))
    {
        Some((member, canonical)) => Err(Failure::bad_params(format!(
            "`{member}` must be spelled `{canonical}`"
        ))),
        None => Ok(()),
    }
}

fn find_lookalike<'a>(member: &'a str, names: &[&'static str]) -> Option<(&'a str, &'static str)> {
    let canonical = names
        .iter()
        .find(|name| **name != member && fold_case(name) == fold_case(member))?;
    Some((member, canonical))
}

/// Converts to upper case first: some letters, such as the long s, match only in upper case.
fn fold_case(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}
