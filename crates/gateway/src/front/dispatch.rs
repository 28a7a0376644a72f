//! Dispatches requests from all endpoints by method.

use kitbag_domain::ShortText;
use kitbag_upstream::LogLevel;
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Raw, RawObject, Request, Response, raw};

use super::lists::{self, ListMethod, add_cache_hints};
use super::{handshake, subscriptions, tasks};
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::reply;
use crate::call::{Call, McpCall, TaskMethod, required_string};
use crate::catalog::skills::mark_uris_in_answer;
use crate::front::session::Session;
use crate::surface;
use crate::turn::Turn;

/// Serves one request to its end. For a modern request, the hop-specific keys are already removed
/// from `params`; a legacy request needs its session.
pub(super) async fn serve_request(
    turn: &Turn,
    session: Option<&Session>,
    request: Request,
    params: RawObject,
) -> Response {
    let Request { id, method, .. } = request;
    let answer = match turn.client.era {
        Era::Modern => answer_modern(turn, &method, params, &id).await,
        Era::Legacy => match session {
            Some(session) => answer_legacy(turn, session, &method, params).await,
            None => Err(Failure::NoSession {
                reason: "send `initialize` first".to_owned(),
            }),
        },
    };
    match answer {
        Ok(result) => Response::from_result(id, result),
        Err(failure) => {
            // Both may quote the client at any length.
            let (requested, why) = (
                ShortText::truncate(&method),
                ShortText::truncate(&failure.to_string()),
            );
            tracing::debug!(method = %requested, failure = %why, "answered with an error");
            reply::failure_response(
                Some(id),
                &method,
                turn.client.era,
                &failure.for_caller(&turn.client.caller),
            )
        }
    }
}

async fn answer_modern(
    turn: &Turn,
    method: &str,
    params: RawObject,
    id: &kitbag_wire::RequestId,
) -> Result<Raw, Failure> {
    match method {
        method::DISCOVER => handshake::answer_discover(turn).await,
        method::LISTEN => subscriptions::listen(turn, &params, id).await,
        "tasks/update" => run_pipeline(turn, McpCall::for_task(TaskMethod::Update, params)?).await,
        _ => answer_common(turn, method, params).await,
    }
}

async fn answer_legacy(
    turn: &Turn,
    session: &Session,
    method: &str,
    params: RawObject,
) -> Result<Raw, Failure> {
    match method {
        method::PING => Ok(raw(&RawObject::new())),
        method::SET_LEVEL => set_level(session, &params),
        method::SUBSCRIBE => subscriptions::subscribe(turn, session, &params).await,
        method::UNSUBSCRIBE => subscriptions::unsubscribe(turn, session, &params).await,
        "tasks/list" => tasks::list_tasks(turn).await,
        "tasks/result" => run_pipeline(turn, McpCall::for_task(TaskMethod::Result, params)?).await,
        _ => answer_common(turn, method, params).await,
    }
}

/// Answers the methods that both eras have in common.
async fn answer_common(turn: &Turn, method: &str, params: RawObject) -> Result<Raw, Failure> {
    match method {
        method::LIST_TOOLS => lists::answer_list(turn, ListMethod::Tools, params).await,
        method::LIST_PROMPTS => lists::answer_list(turn, ListMethod::Prompts, params).await,
        method::LIST_RESOURCES => lists::answer_list(turn, ListMethod::Resources, params).await,
        method::LIST_TEMPLATES => lists::answer_list(turn, ListMethod::Templates, params).await,
        method::CALL_TOOL => surface::call::call_tool(turn, params).await,
        method::GET_PROMPT => run_pipeline(turn, McpCall::for_prompt(params)?).await,
        method::COMPLETE => run_pipeline(turn, McpCall::for_completion(params)?).await,
        method::READ_RESOURCE => {
            let result = match surface::remainder_resource::read_remainder(turn, &params) {
                Some(remainder) => remainder?,
                None => run_pipeline(turn, McpCall::for_resource(params)?).await?,
            };
            Ok(add_cache_hints(turn.client.era, result))
        }
        method::LIST_SKILLS => lists::answer_list(turn, ListMethod::Skills, params).await,
        method::GET_SKILL => {
            let uri: String = required_string(&params, "uri")?;
            let result =
                mark_uris_in_answer(run_pipeline(turn, McpCall::for_skill(params)?).await?, &uri);
            Ok(add_cache_hints(turn.client.era, result))
        }
        method::READ_DIRECTORY => {
            let uri: String = required_string(&params, "uri")?;
            let result = run_pipeline(turn, McpCall::for_directory(params)?).await?;
            Ok(mark_uris_in_answer(result, &uri))
        }
        "tasks/get" => run_pipeline(turn, McpCall::for_task(TaskMethod::Get, params)?).await,
        "tasks/cancel" => run_pipeline(turn, McpCall::for_task(TaskMethod::Cancel, params)?).await,
        _ => Err(Failure::UnknownMethod {
            method: method.to_owned(),
        }),
    }
}

async fn run_pipeline(turn: &Turn, call: McpCall) -> Result<Raw, Failure> {
    pipeline::run(turn, Call::Mcp(call)).await
}

fn set_level(session: &Session, params: &RawObject) -> Result<Raw, Failure> {
    let level: String = required_string(params, "level")?;
    let level = LogLevel::parse(&level)
        .ok_or_else(|| Failure::bad_params(format!("`{level}` is not a log level")))?;
    session.set_log_level(level);
    Ok(raw(&RawObject::new()))
}
