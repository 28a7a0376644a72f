//! The answer to a tool call for a model: truncated, annotated, and counted.

use kitbag_budget::{TruncateOutcome, notice};
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::json;

use super::tools::AlwaysOnTool;
use crate::call::bridge;
use crate::call::failure::Failure;
use crate::turn::Turn;
use crate::turn::view::View;
use kitbag_schema::{Misfit, RereadArguments};

/// Counts the tokens of an answer for the tool of this name.
pub(super) fn record_tokens(
    turn: &Turn,
    name: &str,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    let is_known = AlwaysOnTool::from_name(name).is_some() || turn.catalog.tool(name).is_some();
    let known = is_known.then_some(name);
    turn.gateway
        .services
        .meter
        .record_answer(&turn.client, known, &answer);
    answer
}

/// Corrects malformed arguments, if only one correction is possible.
pub(crate) fn correct_arguments(
    turn: &Turn,
    name: &str,
    params: &mut RawObject,
) -> Option<RereadArguments> {
    let definition = &turn.catalog.tool(name)?.definition;
    let checker = &turn.gateway.services.checker;
    let correction = checker.reread_arguments(definition, params.get("arguments")?)?;
    params.set("arguments", correction.arguments.clone());
    Some(correction)
}

/// Appends a note on how the arguments were corrected.
pub(crate) fn add_correction_note(result: Raw, correction: Option<&RereadArguments>) -> Raw {
    match correction {
        // A question, or the ticket of a task, is not for the model.
        Some(correction) if RawObject::peek_member(&result, "content").is_some() => {
            append_text(result, &format!("[{correction}]"))
        }
        _ => result,
    }
}

/// Truncates a tool's result. If the result violates the tool's own output schema, appends a note,
/// so that a reader does not rely on its structure.
pub(super) fn truncate_and_check(turn: &Turn, name: &str, result: Raw, tokens: usize) -> Raw {
    let broken = output_misfit(turn, name, &result);
    let result = truncate_to_budget(turn, result, tokens);
    match broken {
        Some(misfit) => append_text(
            result,
            &format!("[This result does not match the tool's own output schema:\n{misfit}]"),
        ),
        None => result,
    }
}

fn output_misfit(turn: &Turn, name: &str, result: &Raw) -> Option<Misfit> {
    let structured = RawObject::peek_member(result, "structuredContent")?;
    let definition = &turn.catalog.tool(name)?.definition;
    let checker = &turn.gateway.services.checker;
    let misfit = checker.check_output(definition, structured).err()?;
    tracing::warn!(
        tool = name,
        "the result does not match the tool's own output schema: {misfit}"
    );
    Some(misfit)
}

/// Truncates a result that is too long, and stores the whole for this caller.
pub(super) fn truncate_to_budget(turn: &Turn, result: Raw, tokens: usize) -> Raw {
    if bridge::input_requests(&result).is_some() {
        return result;
    }
    match kitbag_budget::truncate_to_budget(result.get(), tokens) {
        TruncateOutcome::Whole => result,
        TruncateOutcome::Cut(cut) => {
            let remainders = &turn.gateway.services.remainders;
            let id = remainders.insert(turn.caller(), cut.pages.clone());
            let notice = notice::truncation_notice(
                &cut,
                |offset| continuation_call(&id, offset),
                counting_tool(turn),
            );
            cut.answer(&notice)
        }
    }
}

/// Returns the tool with which this client can count or filter a result without reading it.
fn counting_tool(turn: &Turn) -> &'static str {
    let has_programs = match turn.view {
        View::Merged(surface) => AlwaysOnTool::RunCode.is_on(surface, &turn.gateway.code),
        View::Server(_) => false,
    };
    match has_programs {
        true => AlwaysOnTool::RunCode.name(),
        false => "a tool or its arguments",
    }
}

pub(super) fn continuation_call(result: &str, offset: usize) -> String {
    format!("call_api(result: \"{result}\", offset: {offset})")
}

/// Returns a text-only result, as the always-on tools return it.
pub(super) fn text_result(text: &str) -> Raw {
    raw(&json!({ "content": [{ "type": "text", "text": text }] }))
}

/// Appends a text to a result.
pub(super) fn append_text(result: Raw, text: &str) -> Raw {
    let Ok(mut object) = RawObject::open(&result) else {
        return result;
    };
    let mut content: Vec<Raw> = object.read("content").unwrap_or_default();
    content.push(raw(&json!({ "type": "text", "text": text })));
    object.put("content", &content);
    object.to_raw()
}
