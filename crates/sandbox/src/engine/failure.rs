//! An uncaught exception of a program, described in the author's terms.

use rquickjs::{Ctx, Object, Value};

use super::hints::FailureContext;
use super::json;
use super::meter::MemoryMeter;
use super::program_text::ProgramText;
use super::text::text;
use crate::outcome::RunFailure;

pub(crate) fn describe_exception<'js>(
    ctx: &Ctx<'js>,
    thrown: &Value<'js>,
    program: &ProgramText<'_>,
    context: FailureContext<'_>,
) -> RunFailure {
    let stack = thrown
        .as_object()
        .and_then(|error| property(ctx, error, "stack"));
    let position = stack.and_then(|stack| program.position(&stack));
    let path = position.and_then(|position| program.path_at(position));
    let message = name_value(message(ctx, thrown), path);
    let context = FailureContext {
        message: &message,
        path,
        source: program.source,
        ..context
    };
    let hint = context.hint();
    RunFailure::Thrown {
        message,
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        hint,
    }
}

/// The engine throws this when it runs out of memory, or `null` if there is no room for an error. A
/// program may throw `null`, too.
pub(crate) fn is_out_of_memory<'js>(
    ctx: &Ctx<'js>,
    thrown: &Value<'js>,
    memory: MemoryMeter,
) -> bool {
    match thrown.as_object().filter(|_| thrown.is_error()) {
        Some(error) => error_message(ctx, error).as_deref() == Some("InternalError: out of memory"),
        None => thrown.is_null() && memory.is_near_limit(),
    }
}

/// Adds the name of the value, which the engine's message lacks.
fn name_value(message: String, path: Option<&str>) -> String {
    let Some(path) = path else { return message };
    if message == "TypeError: not a function" {
        return format!("TypeError: {path} is not a function");
    }
    let property = message.strip_prefix("TypeError: cannot read property '");
    let property = property.and_then(|rest| rest.split_once("' of "));
    let Some((property, value @ ("undefined" | "null"))) = property else {
        return message;
    };
    let owner = path
        .strip_suffix(property)
        .map(|owner| owner.trim_end_matches(['.', '?']));
    match owner.filter(|owner| !owner.is_empty()) {
        Some(owner) => format!("{message}: `{owner}` is {value}"),
        None => message,
    }
}

fn message<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> String {
    let message = match thrown.as_object() {
        // Also objects like errors, such as a proxy of one.
        Some(object) => error_message(ctx, object)
            .or_else(|| json::format_lenient(ctx, thrown, MAX_MESSAGE).ok()),
        _ if thrown.is_undefined() => Some("the program threw undefined".to_owned()),
        _ if thrown.is_null() => Some("the program threw null".to_owned()),
        _ => json::format_lenient(ctx, thrown, MAX_MESSAGE).ok(),
    };
    message.unwrap_or_else(|| {
        // Formatting it threw again, and that is not the failure.
        ctx.catch();
        "the program threw something that cannot be shown".to_owned()
    })
}

/// In bytes of a message: enough for a sentence and the text that a tool adds to it.
const MAX_MESSAGE: usize = 4_000;

fn error_message<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> Option<String> {
    let name = property(ctx, error, "name")?;
    let message = property(ctx, error, "message")?;
    let whole = format!("{name}: {message}");
    Some(whole[..whole.floor_char_boundary(MAX_MESSAGE)].to_owned())
}

fn property<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> Option<String> {
    let value: Value<'js> = object.get(name).ok()?;
    text(ctx, value.as_string()?).ok()
}
