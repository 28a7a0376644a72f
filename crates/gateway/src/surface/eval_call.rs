//! A call on a small surface as an eval sees it: the text for the model, the tool to which the
//! call led, and that tool's result before truncation.
//!
//! Tools are called in the same way as by `call_api`. Of a batch only the first call is made, and
//! requests to HTTP providers are not made: an eval concerns tools, and does only as much as
//! necessary to see which one a model chooses.

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::value::RawValue;

use super::batch::Batch;
use super::call::{call_tool, call_truncated};
use super::parse_arguments::parse_arguments;
use super::request::ApiRequest;
use super::tool_answer::{add_correction_note, correct_arguments, text_result, truncate_to_budget};
use super::tools::AlwaysOnTool;
use crate::call::bridge;
use crate::call::failure::Failure;
use crate::call::reply;
use crate::call::required_string;
use crate::turn::Turn;
use kitbag_schema::RereadArguments;

pub struct EvalAnswer {
    /// The text that the model reads.
    pub shown: Raw,
    /// `None` if the model called no tool and only searched or browsed.
    pub called: Option<CalledTool>,
}

pub struct CalledTool {
    /// The exposed name as the model wrote it; for a request to a provider, the name of the
    /// always-on tool.
    pub tool: String,
    /// The arguments that the server gets.
    pub arguments: Raw,
    /// The untruncated result.
    pub result: Raw,
    /// The number of later calls in a batch.
    pub also: usize,
}

/// The kind of a call, as far as it can be parsed.
enum CallKind {
    Tool(ParsedToolCall),
    Provider {
        also: usize,
    },
    /// Searching, browsing, reading a remainder, or an unparsable call.
    Browse,
}

struct ParsedToolCall {
    name: String,
    arguments: Raw,
    /// How the arguments of the enclosing call were corrected.
    correction: Option<RereadArguments>,
    also: usize,
}

pub(crate) async fn call_for_eval(turn: &Turn, params: RawObject) -> Result<EvalAnswer, Failure> {
    let name = required_string(&params, "name")?;
    match parse_call(turn, &name, &params) {
        CallKind::Browse => Ok(EvalAnswer {
            shown: call_tool(turn, params).await?,
            called: None,
        }),
        CallKind::Provider { also } => {
            let answer = text_result("Not requested: an eval is about tools.");
            let arguments = given_arguments(&params);
            let reached = CalledTool {
                tool: name,
                arguments,
                result: answer.clone(),
                also,
            };
            Ok(EvalAnswer {
                shown: answer,
                called: Some(reached),
            })
        }
        CallKind::Tool(parsed) => call_parsed_tool(turn, parsed, params).await,
    }
}

/// Makes the call in the same way as `call_api`, but truncates the answer last, because the eval
/// needs the whole answer.
async fn call_parsed_tool(
    turn: &Turn,
    parsed: ParsedToolCall,
    params: RawObject,
) -> Result<EvalAnswer, Failure> {
    let ParsedToolCall {
        name,
        arguments,
        correction,
        also,
    } = parsed;
    let mut params = params.with("name", &name);
    params.set("arguments", arguments);
    let read_as = correct_arguments(turn, &name, &mut params);
    let arguments = given_arguments(&params);
    let result = match call_truncated(turn, name.clone(), params, usize::MAX).await {
        Err(Failure::Cancelled) => return Err(Failure::Cancelled),
        Err(failure) => reply::to_tool_result(&failure, turn.client.era),
        Ok(result) => bridge::format_for_era(turn.client.era, result),
    };
    let shown_answer =
        truncate_to_budget(turn, result.clone(), turn.gateway.surfaces.result_tokens);
    let shown_answer = add_correction_note(
        add_correction_note(shown_answer, read_as.as_ref()),
        correction.as_ref(),
    );
    let reached = Some(CalledTool {
        tool: name,
        arguments,
        result,
        also,
    });
    Ok(EvalAnswer {
        shown: shown_answer,
        called: reached,
    })
}

fn parse_call(turn: &Turn, name: &str, params: &RawObject) -> CallKind {
    match AlwaysOnTool::from_name(name) {
        Some(AlwaysOnTool::Call) => parse_request(turn, params.get("arguments"), 0),
        Some(AlwaysOnTool::Batch) => {
            let batch = parse_arguments::<Batch>(
                &turn.gateway.services.checker,
                AlwaysOnTool::Batch,
                params.get("arguments"),
            );
            let calls = batch.map(|(batch, _)| batch.calls).unwrap_or_default();
            let mut kinds = (0..).zip(&calls).map(|(number, it)| {
                let after: usize = calls.len() - number - 1;
                parse_request(turn, Some(it), after)
            });
            kinds
                .find(|kind| !matches!(kind, CallKind::Browse))
                .unwrap_or(CallKind::Browse)
        }
        Some(
            AlwaysOnTool::Search
            | AlwaysOnTool::Discover
            | AlwaysOnTool::EnableGroup
            | AlwaysOnTool::RunIntent
            | AlwaysOnTool::RunCode,
        ) => CallKind::Browse,
        // A model that calls a tool by its name is served on every surface.
        None => CallKind::Tool(ParsedToolCall {
            name: name.to_owned(),
            arguments: given_arguments(params),
            correction: None,
            also: 0,
        }),
    }
}

/// An unparsable request counts as browsing; the called tool explains the mistake.
fn parse_request(turn: &Turn, given: Option<&RawValue>, also: usize) -> CallKind {
    let read = parse_arguments(&turn.gateway.services.checker, AlwaysOnTool::Call, given);
    let Ok((request, correction)) =
        read.and_then(|(given, correction)| Ok((ApiRequest::from_arguments(given)?, correction)))
    else {
        return CallKind::Browse;
    };
    match request {
        ApiRequest::Tool { name, .. }
            if AlwaysOnTool::from_name(&name).is_some() && turn.catalog.tool(&name).is_none() =>
        {
            CallKind::Browse
        }
        ApiRequest::Tool { name, arguments } => CallKind::Tool(ParsedToolCall {
            name,
            arguments,
            correction,
            also,
        }),
        ApiRequest::Provider { .. } => CallKind::Provider { also },
        ApiRequest::Remainder { .. } => CallKind::Browse,
    }
}

fn given_arguments(params: &RawObject) -> Raw {
    params
        .get("arguments")
        .map_or_else(|| raw(&RawObject::new()), ToOwned::to_owned)
}
