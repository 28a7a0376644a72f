//! Takes the literals out of the calls of a program, and writes down what is left in one form.

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
/// A literal is a string, a number or a boolean that stands in the arguments of a tool call, alone
/// or as a part of objects and arrays: `tools.github.list({ owner: "octocat", labels: ["bug"] })` has two.
/// So is a constant at the top level that is used only in such places. A literal within an
/// expression, such as `"is:" + state`, is a part of the program.
///
/// A program that uses `params` in another way than `params.name` keeps its literals, because a
/// further name in `params` might change what it does.
///
/// # Errors
/// Returns the mistakes that [`javascript`] returns.
pub fn shape(source: &str) -> Result<ProgramShape, SyntaxMistake> {
    let code = javascript(source)?;
    let allocator = Allocator::default();
    let parsed = parse::parse(&allocator, &code)?;
    let calls = calls::find(&parsed.program);
    let named = names::name(calls.literals, calls.read_names);
    Ok(ProgramShape {
        code: layout::write(&parsed, &named.places),
        literals: named.literals,
        tools: calls.tools,
        purpose: purpose::find(&parsed),
    })
}
