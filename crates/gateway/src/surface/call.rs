//! A tool call on a surface: to one of the always-on tools, or directly to a named tool.

use kitbag_domain::{ExposedName, Surface};
use kitbag_wire::{Raw, RawObject};

use super::dispatch::dispatch_audited;
use super::parse_arguments::parse_arguments;
use super::request::ApiRequest;
use super::tool_answer::{
    add_correction_note, correct_arguments, record_tokens, truncate_and_check,
};
use super::tools::AlwaysOnTool;
use super::{adaptive_list, batch, code, intent};
use crate::call::bridge;
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::policy_check;
use crate::call::reply;
use crate::call::resolve;
use crate::call::{Call, McpCall, required_string};
use crate::turn::Turn;
use crate::turn::view::View;

/// Serves `tools/call`.
pub(crate) async fn call_tool(turn: &Turn, params: RawObject) -> Result<Raw, Failure> {
    let name = required_string(&params, "name")?;
    match &turn.view {
        View::Merged(surface) if surface.truncates_answers() || is_code_tool(turn, &name) => {
            call_on_small_surface(turn, *surface, name, params).await
        }
        View::Merged(_) => {
            let answer = call_directly(turn, name.clone(), params).await;
            record_tokens(turn, &name, answer)
        }
        View::Server(server) => {
            let exposed = ExposedName::new(server, &name);
            let answer = call_directly(turn, name, params).await;
            record_tokens(turn, exposed.as_str(), answer)
        }
    }
}

/// True for a tool that runs programs. Where names are unchanged, a server's own tool of that name
/// takes precedence.
fn is_code_tool(turn: &Turn, name: &str) -> bool {
    let own = AlwaysOnTool::from_name(name);
    own.is_some_and(AlwaysOnTool::runs_code) && turn.catalog.tool(name).is_none()
}

async fn call_directly(turn: &Turn, name: String, params: RawObject) -> Result<Raw, Failure> {
    pipeline::run(turn, Call::Mcp(McpCall::for_tool(name, params))).await
}

/// On a small surface a failure is returned to the model, which can correct the call, rather than
/// to the client, which cannot.
async fn call_on_small_surface(
    turn: &Turn,
    surface: Surface,
    name: String,
    params: RawObject,
) -> Result<Raw, Failure> {
    let answer = match AlwaysOnTool::from_name(&name) {
        // The results of these two tools are counted for the tools that they call.
        Some(tool @ (AlwaysOnTool::Call | AlwaysOnTool::Batch)) => {
            call_always_on_tool(turn, surface, tool, params).await
        }
        Some(tool) => record_tokens(
            turn,
            &name,
            call_always_on_tool(turn, surface, tool, params).await,
        ),
        None => call_truncated(turn, name, params, turn.gateway.surfaces.result_tokens).await,
    };
    match answer {
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
        Err(failure) => Ok(reply::to_tool_result(&failure, turn.client.era)),
        Ok(result) => Ok(bridge::format_for_era(turn.client.era, result)),
    }
}

/// Calls a tool by its own name, and truncates the result to a number of tokens.
pub(super) async fn call_truncated(
    turn: &Turn,
    name: String,
    mut params: RawObject,
    tokens: usize,
) -> Result<Raw, Failure> {
    let correction = correct_arguments(turn, &name, &mut params);
    let answer = call_directly(turn, name.clone(), params)
        .await
        .map(|result| {
            adaptive_list::add_used_tool(turn, &name);
            add_correction_note(
                truncate_and_check(turn, &name, result, tokens),
                correction.as_ref(),
            )
        });
    record_tokens(turn, &name, answer)
}

async fn call_always_on_tool(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOnTool,
    params: RawObject,
) -> Result<Raw, Failure> {
    policy_check::check_known_tenant(turn)?;
    if tool.runs_code() && !tool.is_on(surface, &turn.gateway.code) {
        return Err(resolve::unknown_tool(turn, tool.name()));
    }
    match tool {
        AlwaysOnTool::Call => {
            let (arguments, correction) = parse_arguments(
                &turn.gateway.services.checker,
                tool,
                params.get("arguments"),
            )?;
            let request = ApiRequest::from_arguments(arguments)?;
            let answer = request
                .run_request(turn, params, turn.gateway.surfaces.result_tokens)
                .await;
            answer.map(|result| add_correction_note(result, correction.as_ref()))
        }
        AlwaysOnTool::Batch => {
            let (arguments, correction) = parse_arguments(
                &turn.gateway.services.checker,
                tool,
                params.get("arguments"),
            )?;
            let answer = batch::run_batch(turn, arguments, params).await;
            answer.map(|result| add_correction_note(result, correction.as_ref()))
        }
        AlwaysOnTool::RunIntent => {
            let checker = &turn.gateway.services.checker;
            let (arguments, _) = parse_arguments(checker, tool, params.get("arguments"))?;
            intent::run_intent(turn, arguments, &params).await
        }
        AlwaysOnTool::RunCode => {
            let checker = &turn.gateway.services.checker;
            let (arguments, _) = parse_arguments(checker, tool, params.get("arguments"))?;
            code::run_code(turn, arguments, &params).await
        }
        AlwaysOnTool::Search | AlwaysOnTool::Discover | AlwaysOnTool::EnableGroup => {
            dispatch_audited(turn, surface, tool, &params).await
        }
    }
}
