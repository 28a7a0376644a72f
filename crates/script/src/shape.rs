//! Extracts the literals from a program's calls, and writes the rest in one form.

mod arguments;
mod calls;
mod layout;
mod literal;
mod marks;
mod names;
mod purpose;

use oxc_allocator::Allocator;

pub(crate) use calls::tool_call;

use crate::{ProgramShape, SyntaxMistake, javascript, parse};

/// Returns the shape of a program.
///
/// A literal is a string, a number or a boolean in the arguments of a tool call, by itself or
/// within objects and arrays: `tools.github.list({ owner: "octocat", labels: ["bug"] })` has two.
/// So is a top-level constant that is only used in such arguments. A literal within an expression,
/// such as `"is:" + state`, is a part of the program.
///
/// A program that uses `params` in another way than `params.name` keeps its literals, because
/// another name in `params` might change its behaviour.
///
/// # Errors
/// Returns the mistakes that [`javascript`] returns.
pub fn shape(source: &str) -> Result<ProgramShape, SyntaxMistake> {
    let code = javascript(source)?;
    let allocator = Allocator::default();
    let parsed = parse::parse(&allocator, &code)?;
    let calls = calls::find(&parsed.program);
    let named = names::name_literals(calls.literals, calls.read_names);
    Ok(ProgramShape {
        code: layout::write(&parsed, &named.names_by_offset),
        literals: named.literals,
        tools: calls.tools,
        purpose: purpose::find(&parsed),
    })
}
