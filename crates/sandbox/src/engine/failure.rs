//! An exception that a program did not catch, told in the author's terms.

use rquickjs::{Ctx, Object, Value};

use super::json;
use super::text::text;
use crate::outcome::RunFailure;

/// The name of the program in stacks.
pub(crate) const FILE: &str = "program.js";

/// The head of the function around the program takes one line.
const HEAD: usize = 1;

pub(crate) fn thrown<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> RunFailure {
    let place = place(ctx, thrown);
    RunFailure::Thrown {
        message: message(ctx, thrown),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        hint: None,
    }
}

/// The engine throws this when its memory is used up, or `null` if there is no room for an error.
pub(crate) fn is_out_of_memory(thrown: &Value<'_>) -> bool {
    let exception = thrown.as_exception();
    exception.is_some_and(|error| error.message().as_deref() == Some("out of memory"))
}

fn message<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> String {
    let said = match thrown.as_object() {
        Some(object) if thrown.is_error() => error_message(ctx, object),
        _ => json::shown(ctx, thrown, LONGEST).ok(),
    };
    said.unwrap_or_else(|| "the program threw something that cannot be shown".to_owned())
}

/// In bytes, of a message: enough for a sentence and the text that a tool adds to it.
const LONGEST: usize = 4_000;

fn error_message<'js>(ctx: &Ctx<'js>, error: &Object<'js>) -> Option<String> {
    let name = property(ctx, error, "name")?;
    let message = property(ctx, error, "message")?;
    let whole = format!("{name}: {message}");
    Some(whole[..whole.floor_char_boundary(LONGEST)].to_owned())
}

fn property<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> Option<String> {
    let value: Value<'js> = object.get(name).ok()?;
    text(ctx, value.as_string()?).ok()
}

fn place<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> Option<(usize, usize)> {
    let stack = property(ctx, thrown.as_object()?, "stack")?;
    stack.lines().find_map(in_program)
}

/// `    at load (program.js:3:7)`
fn in_program(line: &str) -> Option<(usize, usize)> {
    let (_, place) = line.split_once(FILE)?;
    let mut numbers = place.trim_matches([':', ')']).split(':').map(str::parse);
    let line: usize = numbers.next()?.ok()?;
    let column = numbers.next()?.ok()?;
    Some((line.checked_sub(HEAD)?, column))
}
