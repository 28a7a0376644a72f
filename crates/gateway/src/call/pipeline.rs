//! One call, from a client's name for a tool to the result. Read this file first.
//!
//! Every call to a server or an API passes through this file, whose functions follow the order of
//! the steps: resolve, decide, validate, dispatch, observe.

use kitbag_apis::ProviderAnswer;
use kitbag_domain::text::strip_invisible;
use kitbag_domain::{Capability, Outcome, TraceParent, WriteClass};
use kitbag_upstream::CallError;
use kitbag_wire::meta::result_type;
use kitbag_wire::{Raw, RawObject, is_too_deep, raw};
use serde_json::json;

use crate::call::bridge;
use crate::call::consent::{require_consent, write_class};
use crate::call::failure::Failure;
use crate::call::observe::ToolUse;
use crate::call::policy_check;
use crate::call::record::CallRecord;
use crate::call::resolve::{self, ApiTarget, CallTarget, Executor, McpTarget};
use crate::call::tool_file_call;
use crate::call::unapproved;
use crate::call::{Call, CallSubject};
use crate::catalog::CatalogEntry;
use crate::catalog::overrides;
use crate::catalog::prompts;
use crate::surface::sanitize;
use crate::turn::Turn;
use crate::turn::view::View;

pub(crate) async fn run(turn: &Turn, mut call: Call) -> Result<Raw, Failure> {
    let mut record = CallRecord::new(turn);
    let answer = resolve_and_run(turn, &mut call, &mut record).await;
    record.write_end(turn, &answer, result_outcome);
    answer.map_err(|failure| failure.for_caller(turn.caller()))
}

async fn resolve_and_run(
    turn: &Turn,
    call: &mut Call,
    record: &mut CallRecord,
) -> Result<Raw, Failure> {
    let resolved =
        policy_check::check_known_tenant(turn).and_then(|()| resolve::resolve(turn, call));
    let mut target =
        resolved.inspect_err(|_| record.set_subject(turn, call.unresolved_capability(), None))?;
    record.set_subject(turn, target.capability.clone(), target.arguments());
    record.set_tool_use(ToolUse::for_call(turn, &target));
    let answer = check_and_dispatch(turn, &mut target, record).await;
    prepare_for_client(turn, &target, answer)
}

async fn check_and_dispatch(
    turn: &Turn,
    target: &mut CallTarget,
    record: &mut CallRecord,
) -> Result<Raw, Failure> {
    check_policy(turn, target)?;
    overrides::strip_fixed_arguments(turn, target)?;
    validate_params(turn, target)?;
    require_consent(turn, target).await?;
    // The last step before the server is contacted, so a required audit row is written here.
    record.write_required_row(turn).await?;
    let answer = tokio::select! {
        answer = dispatch_call(turn, target, record.span()) => answer,
        () = turn.cancelled.cancelled() => Err(Failure::Cancelled),
    };
    if let Some(price) = target.observed_price() {
        record.record_price(price);
    }
    // A failed call may have changed something, too.
    if write_class(turn, target) != WriteClass::Read {
        let server = &target.capability.server;
        turn.gateway.services.intents.forget_results_of(server);
    }
    answer
}

fn check_policy(turn: &Turn, target: &CallTarget) -> Result<(), Failure> {
    match &target.executor {
        Executor::Mcp(server) => check_mcp_policy(turn, &target.capability, server),
        Executor::Api(_) => policy_check::authorize(turn, &target.capability, || {
            unknown_path(turn, &target.capability)
        }),
        Executor::ToolFile(file_target) => {
            policy_check::authorize(turn, &target.capability, || {
                resolve::unknown_tool(turn, file_target.tool.file.name.as_str())
            })
        }
    }
}

fn check_mcp_policy(
    turn: &Turn,
    capability: &Capability,
    target: &McpTarget,
) -> Result<(), Failure> {
    // A list concerns the server; its entries are filtered one by one.
    if matches!(turn.view, View::Server(_)) && capability.name.is_empty() {
        return match turn.can_see_server(&capability.server) {
            true => Ok(()),
            false => Err(Failure::UnknownServer {
                server: capability.server.to_string(),
            }),
        };
    }
    for part in [Some(capability), target.filled.as_ref()]
        .into_iter()
        .flatten()
    {
        policy_check::authorize(turn, part, || resolve::unknown(turn, &target.subject))?;
    }
    if overrides::is_hidden(turn, capability) {
        return Err(resolve::unknown(turn, &target.subject));
    }
    unapproved::check_approved(turn, &target.subject, capability)?;
    match policy_check::is_listed(turn, &target.subject, capability) {
        true => Ok(()),
        false => Err(resolve::unknown(turn, &target.subject)),
    }
}

/// Returns the error for a path that rules hide. For a caller who may not know of the API, the API
/// does not exist.
fn unknown_path(turn: &Turn, capability: &Capability) -> Failure {
    if !turn.can_see_server(&capability.server) {
        return resolve::unknown_provider(turn, capability.server.to_string());
    }
    Failure::UnknownPath {
        provider: capability.server.clone(),
        subject: capability.name.clone(),
    }
}

/// Rejects mistakes that can be found without asking the server.
fn validate_params(turn: &Turn, target: &mut CallTarget) -> Result<(), Failure> {
    match &mut target.executor {
        Executor::Mcp(target) => validate_mcp_params(turn, target),
        // Only the API knows its arguments.
        Executor::Api(_) => Ok(()),
        Executor::ToolFile(target) => target.check_arguments(&turn.gateway.services.checker),
    }
}

fn validate_mcp_params(turn: &Turn, target: &mut McpTarget) -> Result<(), Failure> {
    let params = &mut target.outbound.params;
    // Some clients send `null` for no arguments.
    if params
        .get("arguments")
        .is_some_and(|given| given.get() == "null")
    {
        params.remove("arguments");
    }
    if matches!(target.subject, CallSubject::Tool(_)) {
        require_object(params, "arguments")?;
    }
    // Not every call comes from a client: arguments also come from the terminal or are extracted
    // from text.
    if params
        .iter()
        .any(|(_, value)| is_too_deep(value.get().as_bytes()))
    {
        return Err(Failure::arguments_too_deep());
    }
    require_object(params, "_meta")?;
    // A client that wants the servers' definitions unchanged leaves validation to the servers.
    if turn.view.is_small_surface() {
        check_arguments(turn, &target.subject, params)?;
    }
    Ok(())
}

fn require_object(params: &RawObject, member: &str) -> Result<(), Failure> {
    match params.get(member) {
        Some(value) if !value.get().starts_with('{') => {
            Err(Failure::bad_params(format!("`{member}` must be an object")))
        }
        _ => Ok(()),
    }
}

/// Validates the arguments against the listing, if the tool or prompt is in it.
fn check_arguments(turn: &Turn, subject: &CallSubject, params: &RawObject) -> Result<(), Failure> {
    match subject {
        CallSubject::Tool(name) => match turn.catalog.tool(name) {
            Some(entry) => check_tool_arguments(turn, entry, params),
            None => Ok(()),
        },
        CallSubject::Prompt(name) => match turn.catalog.prompt(name) {
            Some(entry) => prompts::check_arguments(&entry.definition, params),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn check_tool_arguments(
    turn: &Turn,
    tool: &CatalogEntry,
    params: &RawObject,
) -> Result<(), Failure> {
    let none = raw(&RawObject::new());
    let arguments = params.get("arguments").unwrap_or(&none);
    let checker = &turn.gateway.services.checker;
    let checked = checker.check_arguments(&tool.definition, arguments);
    checked.map_err(|misfit| Failure::Arguments {
        tool: tool.exposed.clone(),
        misfit,
    })
}

async fn dispatch_call(
    turn: &Turn,
    target: &mut CallTarget,
    span: Option<TraceParent>,
) -> Result<Raw, Failure> {
    let trace = turn.trace.under_span(span);
    let capability = &target.capability;
    match &mut target.executor {
        Executor::Mcp(target) => {
            target.outbound.approval = unapproved::approval_for(turn, capability);
            overrides::add_fixed_arguments(turn, capability, target);
            trace.put_into(&mut target.outbound.params);
            let bridged = bridge::bridge_call(turn, target).await;
            let result =
                bridged.map_err(|it| unapproved::explain_failure(turn, target, capability, it))?;
            let result = unapproved::check_answer(turn, target, capability, result)?;
            reject_deep_nesting(target, result)
        }
        Executor::Api(target) => {
            target.request.trace = trace.api_headers();
            call_api(turn, target).await
        }
        Executor::ToolFile(target) => {
            target.trace = trace.api_headers();
            let done = Box::pin(tool_file_call::run_action(turn, target)).await?;
            target.observed_price = done.price;
            Ok(done.result)
        }
    }
}

/// Rejects a result that is nested too deeply for a client. Lists are checked entry by entry.
fn reject_deep_nesting(target: &McpTarget, result: Raw) -> Result<Raw, Failure> {
    let is_list = matches!(target.subject, CallSubject::List(_));
    if is_list || !is_too_deep(result.get().as_bytes()) {
        return Ok(result);
    }
    Err(CallError::TooDeep {
        server: target.server.name().clone(),
    }
    .into())
}

async fn call_api(turn: &Turn, target: &ApiTarget) -> Result<Raw, Failure> {
    let provider = &target.provider;
    // A redirect is a call that the API chose; it may lead where this caller may not go.
    let judge =
        |subject: &str| turn.can_see(&Capability::tool(provider.spec().name.clone(), subject));
    let answer = provider.call(target.request.clone(), &judge).await?;
    Ok(api_tool_result(&answer))
}

/// Converts an API's answer to a tool result.
fn api_tool_result(answer: &ProviderAnswer) -> Raw {
    let mut head = format!("HTTP {}", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("\n{name}: {value}"));
    }
    let body = String::from_utf8_lossy(&answer.body);
    let content =
        [&head, &*body].map(|text| json!({ "type": "text", "text": strip_invisible(text) }));
    raw(&json!({ "content": content, "isError": answer.status >= 400 }))
}

/// Prepares a server's result for this client. An API's result needs no preparation.
fn prepare_for_client(
    turn: &Turn,
    target: &CallTarget,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    let Executor::Mcp(server) = &target.executor else {
        return answer;
    };
    let answer = policy_check::replace_missing_resource_error(turn, &server.subject, answer);
    let answer = answer.map(|result| remember_task(turn, &target.capability, result));
    adapt_texts(turn, server, answer)
}

/// Stores the task that a result mentions, so that it is found by the name that the client gets.
fn remember_task(turn: &Turn, capability: &Capability, result: Raw) -> Raw {
    let tasks = &turn.gateway.services.tasks;
    let exposed = tasks.remember_task(&turn.caller().tenant, capability, &result);
    match (&turn.view, exposed) {
        (View::Merged(_), Some(exposed)) => exposed,
        _ => result,
    }
}

/// On a merged surface, adds the server's name to its questions; on the small surfaces, removes
/// invisible characters.
fn adapt_texts(
    turn: &Turn,
    target: &McpTarget,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    if matches!(turn.view, View::Server(_)) {
        return answer;
    }
    let answer = answer.map(|result| sanitize::name_server_in_result(result, target.server.name()));
    if !turn.view.is_small_surface() {
        return answer;
    }
    let secrets = target.server.secrets();
    answer
        .map(|result| sanitize::sanitize_json(result, &secrets))
        .map_err(|failure| sanitize::sanitize_failure(failure, &secrets))
}

fn result_outcome(result: &Raw) -> Outcome {
    // Most results are large and contain neither; a text search is cheaper than parsing.
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
