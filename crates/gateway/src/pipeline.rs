//! One call, from a name a client knows to an answer. Read this file first.
//!
//! This is the only road to an upstream: each line of [`run`] is a room of the house.

use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::text::visible;
use kitbag_domain::{Capability, Kind, Outcome, ServerName, ShortText};
use kitbag_upstream::provider::{Provider, ProviderAnswer, ProviderCall};
use kitbag_upstream::{CallError, Outbound, Server};
use kitbag_wire::meta::{method, result_type};
use kitbag_wire::{MAX_NESTING, Raw, RawObject, is_too_deep, raw};
use serde_json::json;

use crate::authored;
use crate::bridge;
use crate::completion::{self, Reference};
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::hidden::{self, Asked};
use crate::record::CallRecord;
use crate::resources::{Route, marked};
use crate::turn::{Turn, View};

/// A request that some server has to answer.
pub(crate) struct Call {
    pub(crate) method: CallMethod,
    pub(crate) params: RawObject,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMethod {
    CallTool,
    GetPrompt,
    ReadResource,
    Complete,
    /// Lists of one server, untouched.
    List(&'static str),
    /// `tasks/…`, about a task some tool call has begun.
    Task(TaskMethod),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMethod {
    Get,
    Result,
    Update,
    Cancel,
}

/// What a call is about, and the server that answers it.
pub(crate) struct Target {
    pub(crate) server: Arc<Server>,
    pub(crate) capability: Capability,
    /// The resource that a template becomes with the values a completion comes with.
    filled: Option<Capability>,
    /// The tool's definition, where arguments are held against it.
    definition: Option<Raw>,
}

pub(crate) async fn run(turn: &Turn, mut call: Call) -> Result<Raw, Failure> {
    let started = Instant::now();
    let asked = Asked::of(&call);
    let target = match resolve(turn, &mut call) {
        Ok(target) => target,
        Err(failure) => {
            let record = CallRecord::new(turn, &unresolved(&call), started);
            let answer = Err(failure);
            record.end(&turn.gateway, &answer, outcome);
            return answer;
        }
    };
    let method = call.method;
    let mut record = CallRecord::new(turn, &target.capability, started);
    let decided = decide(turn, &target, &asked);
    let ready = decided.and_then(|()| validate(turn, &target, call));
    let answer = match begin(&turn.gateway, &mut record, ready).await {
        Ok(outbound) => dispatch(turn, &target, outbound).await,
        Err(failure) => Err(failure),
    };
    let answer = answer.and_then(|result| shallow(&target, method, result));
    let answer = hidden::in_our_words(turn, &asked, answer);
    let answer = answer.map(|result| remember_task(turn, &target, result));
    let answer = presented(turn, &target, answer);
    record.end(&turn.gateway, &answer, outcome);
    answer.map_err(|failure| failure.for_caller(&turn.client.caller))
}

/// The same road to an HTTP provider. Policy knows such a call as `<provider>/<METHOD> <path>`.
/// `unknown` is what a caller reads who may not know of the provider.
pub(crate) async fn request(
    turn: &Turn,
    provider: &Provider,
    call: ProviderCall,
    unknown: impl FnOnce() -> Failure,
) -> Result<Raw, Failure> {
    let started = Instant::now();
    let capability = Capability::tool(provider.spec().name.clone(), call.subject());
    let is_visible = turn.sees_server(&capability.server);
    let no_such_path = || Failure::UnknownPath {
        provider: capability.server.clone(),
        subject: capability.name.clone(),
    };
    let refusal = || {
        if is_visible {
            no_such_path()
        } else {
            unknown()
        }
    };
    let ready =
        hidden::known_tenant(turn).and_then(|()| hidden::permit(turn, &capability, refusal));
    // A redirect is a call that the API chose, and may lead where this caller may not go.
    let judge = |subject: &str| {
        let capability = Capability::tool(capability.server.clone(), subject);
        turn.sees(&capability)
    };
    let mut record = CallRecord::new(turn, &capability, started);
    let answer = match begin(&turn.gateway, &mut record, ready).await {
        Ok(()) => tokio::select! {
            answer = provider.call(call, &judge) => answer.map(|answer| provided(&answer)).map_err(Failure::from),
            () = turn.cancelled.cancelled() => Err(Failure::Cancelled),
        },
        Err(failure) => Err(failure),
    };
    record.end(&turn.gateway, &answer, outcome);
    answer
}

/// Finds the server and puts its own name for the thing in place of ours.
fn resolve(turn: &Turn, call: &mut Call) -> Result<Target, Failure> {
    hidden::known_tenant(turn)?;
    refuse_lookalikes(&call.params)?;
    let definition = definition(turn, call);
    let capability = match &turn.view {
        _ if matches!(call.method, CallMethod::Task(_)) => resolve_task(turn, call)?,
        View::One(server) => {
            let (kind, name) = subject(call)?;
            Capability {
                server: server.clone(),
                kind,
                name,
            }
        }
        View::Merged(_) => resolve_exposed(turn, call)?,
    };
    let filled = (call.method == CallMethod::Complete)
        .then(|| completion::settle(&capability, &mut call.params));
    let server = turn.gateway.upstreams.get(&capability.server).cloned();
    let server = server.ok_or_else(|| Failure::UnknownServer {
        server: capability.server.to_string(),
    })?;
    Ok(Target {
        server,
        capability,
        filled: filled.flatten(),
        definition,
    })
}

/// Who wants everything as the servers have it leaves the checking to them, too.
fn definition(turn: &Turn, call: &Call) -> Option<Raw> {
    let View::Merged(surface) = turn.view else {
        return None;
    };
    if call.method != CallMethod::CallTool || !surface.is_frugal() {
        return None;
    }
    let name: String = call.params.read("name")?;
    turn.catalog
        .tool(&name)
        .map(|entry| entry.definition.clone())
}

fn resolve_exposed(turn: &Turn, call: &mut Call) -> Result<Capability, Failure> {
    let catalog = &turn.catalog;
    match call.method {
        CallMethod::CallTool => {
            let name: String = required(&call.params, "name")?;
            let capability = match catalog.tool(&name) {
                Some(entry) => entry.capability.clone(),
                None => unlisted_tool(turn, &name).ok_or_else(|| unknown_tool(turn, name))?,
            };
            call.params.put("name", &capability.name);
            Ok(capability)
        }
        CallMethod::GetPrompt => {
            let name: String = required(&call.params, "name")?;
            let entry = catalog
                .prompt(&name)
                .ok_or(Failure::UnknownPrompt { name })?;
            call.params.put("name", &entry.capability.name);
            Ok(entry.capability.clone())
        }
        CallMethod::ReadResource => {
            let uri: String = required(&call.params, "uri")?;
            let capability = led(catalog.routes().resource(&uri, &seen_by(turn)), &uri)?;
            call.params.put("uri", &capability.name);
            Ok(capability)
        }
        CallMethod::Complete => match Reference::read(&call.params)? {
            Reference::Prompt(name) => {
                let entry = catalog
                    .prompt(&name)
                    .ok_or(Failure::UnknownPrompt { name })?;
                Ok(entry.capability.clone())
            }
            Reference::Resource(uri) => led(catalog.routes().template(&uri, &seen_by(turn)), &uri),
        },
        CallMethod::List(_) | CallMethod::Task(_) => Err(Failure::UnknownMethod {
            method: call.method.as_str().to_owned(),
        }),
    }
}

/// What the record says of a call that leads nowhere: the name as it was asked for, under the
/// server that it seems to mean.
fn unresolved(call: &Call) -> Capability {
    let (kind, key) = match call.method {
        CallMethod::GetPrompt => (Kind::Prompt, "name"),
        CallMethod::ReadResource | CallMethod::Complete => (Kind::Resource, "uri"),
        CallMethod::CallTool | CallMethod::List(_) | CallMethod::Task(_) => (Kind::Tool, "name"),
    };
    let name: String = call.params.read(key).unwrap_or_default();
    let name = ShortText::cut(&name).as_str().to_owned();
    let server = name
        .split_once("__")
        .and_then(|(server, _)| server.parse().ok());
    let nobody = || "unknown".parse().expect("it is a valid name");
    Capability {
        server: server.unwrap_or_else(nobody),
        kind,
        name,
    }
}

/// A client may know a name from an earlier day while the server has not been listed yet, or
/// cannot be started. What the server says then is worth more than that nobody knows the name.
fn unlisted_tool(turn: &Turn, exposed: &str) -> Option<Capability> {
    let (server, tool) = exposed.split_once("__")?;
    let server: ServerName = server.parse().ok()?;
    let unlisted = turn.gateway.upstreams.get(&server)?.listing().is_none();
    let capability = Capability::tool(server, tool);
    (unlisted && turn.sees(&capability)).then_some(capability)
}

pub(crate) fn unknown_tool(turn: &Turn, name: String) -> Failure {
    let catalog = &turn.catalog;
    let visible = catalog.tools.iter().filter(|it| turn.sees(&it.capability));
    let names = visible.filter_map(|it| match &turn.view {
        View::Merged(_) => Some(it.exposed.as_str()),
        View::One(server) => {
            (it.capability.server == *server).then_some(it.capability.name.as_str())
        }
    });
    let near = crate::catalog::near(&name, names)
        .into_iter()
        .map(str::to_owned)
        .collect();
    Failure::UnknownTool { name, near }
}

/// A task belongs to the tool that began it, and to the tenant who called that.
fn resolve_task(turn: &Turn, call: &mut Call) -> Result<Capability, Failure> {
    let id: String = required(&call.params, "taskId")?;
    let tenant = &turn.client.caller.tenant;
    let found = match &turn.view {
        View::One(server) => turn.gateway.services.tasks.begun(tenant, server, &id),
        View::Merged(_) => {
            turn.gateway
                .services
                .tasks
                .meant(tenant, &id)
                .map(|(capability, own)| {
                    call.params.put("taskId", &own);
                    capability
                })
        }
    };
    found.ok_or_else(|| unknown_task(&id))
}

pub(crate) fn unknown_task(id: &str) -> Failure {
    Failure::params(format!("there is no task `{id}`"))
}

/// What the caller may know of.
fn seen_by<'a>(turn: &'a Turn) -> impl Fn(&Capability) -> bool + 'a {
    |capability| turn.sees(capability)
}

/// The one server that a URI leads to.
pub(crate) fn led(route: Route, uri: &str) -> Result<Capability, Failure> {
    let uri = uri.to_owned();
    match route {
        Route::To(capability) => Ok(capability),
        Route::Contested(owners) => Err(Failure::ContestedResource {
            uri,
            forms: owners.iter().map(marked).collect(),
        }),
        Route::Nowhere => Err(Failure::UnknownResource { uri }),
    }
}

fn decide(turn: &Turn, target: &Target, asked: &Asked) -> Result<(), Failure> {
    let Capability { server, name, .. } = &target.capability;
    match turn.view {
        // A list is about the server; what it contains is filtered one by one.
        View::One(_) if name.is_empty() => match turn.sees_server(server) {
            true => Ok(()),
            false => Err(Failure::UnknownServer {
                server: server.to_string(),
            }),
        },
        _ => {
            for capability in [Some(&target.capability), target.filled.as_ref()]
                .into_iter()
                .flatten()
            {
                hidden::permit(turn, capability, || asked.unknown(turn))?;
            }
            let is_listed = hidden::is_listed(turn, asked, &target.capability);
            if is_listed {
                Ok(())
            } else {
                Err(asked.unknown(turn))
            }
        }
    }
}

/// Checks what can be known to be wrong without asking the server, and makes the call ready
/// to leave.
fn validate(turn: &Turn, target: &Target, mut call: Call) -> Result<Outbound, Failure> {
    // Some clients write down that there are no arguments; leaving them out says the same.
    if call
        .params
        .get("arguments")
        .is_some_and(|arguments| arguments.get() == "null")
    {
        call.params.remove("arguments");
    }
    if call.method == CallMethod::CallTool
        && let Some(arguments) = call.params.get("arguments")
        && !arguments.get().starts_with('{')
    {
        return Err(Failure::params("`arguments` must be an object"));
    }
    // Not every call comes from a door: arguments are also typed at a terminal, or taken out of text.
    if call
        .params
        .iter()
        .any(|(_, value)| is_too_deep(value.get().as_bytes()))
    {
        return Err(Failure::params(format!(
            "the arguments are nested deeper than {MAX_NESTING} levels"
        )));
    }
    if let Some(meta) = call.params.get("_meta")
        && !meta.get().starts_with('{')
    {
        return Err(Failure::params("`_meta` must be an object"));
    }
    if let Some(definition) = &target.definition {
        let none = raw(&RawObject::new());
        let arguments = call.params.get("arguments").unwrap_or(&none);
        let exposed = || RawObject::open(definition).ok()?.read("name");
        let misfit = |misfit| Failure::Arguments {
            tool: exposed().unwrap_or_default(),
            misfit,
        };
        turn.gateway
            .services
            .checker
            .check_arguments(definition, arguments)
            .map_err(misfit)?;
    }
    Ok(Outbound {
        method: call.method.as_str().to_owned(),
        params: call.params,
        client: turn.client.face(),
    })
}

async fn dispatch(turn: &Turn, target: &Target, outbound: Outbound) -> Result<Raw, Failure> {
    tokio::select! {
        answer = bridge::carry(turn, target, outbound) => answer,
        () = turn.cancelled.cancelled() => Err(Failure::Cancelled),
    }
}

/// A client need not survive what a server nests. Of a list, the entries are looked at one by one.
fn shallow(target: &Target, method: CallMethod, result: Raw) -> Result<Raw, Failure> {
    if matches!(method, CallMethod::List(_)) || !is_too_deep(result.get().as_bytes()) {
        return Ok(result);
    }
    Err(CallError::TooDeep {
        server: target.capability.server.clone(),
    }
    .into())
}

/// A task a result tells of must be found again, by the name it is given here.
fn remember_task(turn: &Turn, target: &Target, result: Raw) -> Raw {
    let exposed =
        turn.gateway
            .services
            .tasks
            .learn(&turn.client.caller.tenant, &target.capability, &result);
    match (&turn.view, exposed) {
        (View::Merged(_), Some(exposed)) => exposed,
        _ => result,
    }
}

/// The last step before a server is touched: where the audit is required, the call goes on record.
async fn begin<T>(
    gateway: &Gateway,
    record: &mut CallRecord,
    ready: Result<T, Failure>,
) -> Result<T, Failure> {
    let ready = ready?;
    record.begin(gateway).await?;
    Ok(ready)
}

/// What a server wrote, as this client may be shown it: where servers are merged, a question says who
/// asks it; on the frugal surfaces text is data, with nothing in it that cannot be seen.
fn presented(turn: &Turn, target: &Target, answer: Result<Raw, Failure>) -> Result<Raw, Failure> {
    if matches!(turn.view, View::One(_)) {
        return answer;
    }
    let answer = answer.map(|result| authored::introduced_in(result, &target.capability.server));
    if !turn.view.cleans() {
        return answer;
    }
    let secrets = turn.gateway.services.given_secrets.of(&target.server);
    answer
        .map(|result| authored::shown(result, &secrets))
        .map_err(|failure| authored::shown_failure(failure, &secrets))
}

/// An API's answer as the result of a tool.
fn provided(answer: &ProviderAnswer) -> Raw {
    let mut head = format!("HTTP {}", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("\n{name}: {value}"));
    }
    let body = String::from_utf8_lossy(&answer.body);
    let text = |text: &str| json!({ "type": "text", "text": visible(text) });
    raw(&json!({ "content": [text(&head), text(&body)], "isError": answer.status >= 400 }))
}

fn outcome(result: &Raw) -> Outcome {
    // Most results are large and say neither; a search is cheaper than opening them.
    let text = result.get();
    if !text.contains("\"isError\"") && !text.contains("\"input_required\"") {
        return Outcome::Ok;
    }
    let Ok(result) = RawObject::open(result) else {
        return Outcome::Ok;
    };
    if result.read("isError") == Some(true) {
        return Outcome::ToolError;
    }
    match result.read::<String>("resultType").as_deref() {
        Some(result_type::INPUT_REQUIRED) => Outcome::InputRequired,
        _ => Outcome::Ok,
    }
}

/// What a call to a single server is about; a list is about the server itself.
fn subject(call: &Call) -> Result<(Kind, String), Failure> {
    Ok(match call.method {
        CallMethod::CallTool => (Kind::Tool, required(&call.params, "name")?),
        CallMethod::GetPrompt => (Kind::Prompt, required(&call.params, "name")?),
        CallMethod::ReadResource => (Kind::Resource, required(&call.params, "uri")?),
        CallMethod::Complete => match Reference::read(&call.params)? {
            Reference::Prompt(name) => (Kind::Prompt, name),
            Reference::Resource(uri) => (Kind::Resource, uri),
        },
        CallMethod::List(_) | CallMethod::Task(_) => (Kind::Tool, String::new()),
    })
}

/// Some servers read members whatever their case, and of several the last. What we decided by must be
/// what they read, so no other spelling of such a member may stand beside it.
fn refuse_lookalikes(params: &RawObject) -> Result<(), Failure> {
    const DECIDING: [&str; 5] = ["name", "uri", "ref", "taskId", "arguments"];
    match params
        .iter()
        .find_map(|(member, _)| lookalike(member, &DECIDING))
    {
        Some((member, meant)) => Err(Failure::params(format!(
            "`{member}` must be spelt `{meant}`"
        ))),
        None => Ok(()),
    }
}

/// Upper case first, because some letters, such as the long s, have only that in common.
fn lookalike<'a>(member: &'a str, names: &[&'static str]) -> Option<(&'a str, &'static str)> {
    let folded = |text: &str| text.to_uppercase().to_lowercase();
    let meant = names
        .iter()
        .find(|name| **name != member && folded(name) == folded(member))?;
    Some((member, meant))
}

pub(crate) fn required(params: &RawObject, field: &str) -> Result<String, Failure> {
    match params.get(field) {
        None => Err(Failure::params(format!("`{field}` is missing"))),
        Some(_) => params
            .read(field)
            .ok_or_else(|| Failure::params(format!("`{field}` must be a string"))),
    }
}

impl CallMethod {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => method::CALL_TOOL,
            Self::GetPrompt => method::GET_PROMPT,
            Self::ReadResource => method::READ_RESOURCE,
            Self::Complete => method::COMPLETE,
            Self::List(method) => method,
            Self::Task(TaskMethod::Get) => "tasks/get",
            Self::Task(TaskMethod::Result) => "tasks/result",
            Self::Task(TaskMethod::Update) => "tasks/update",
            Self::Task(TaskMethod::Cancel) => "tasks/cancel",
        }
    }
}
