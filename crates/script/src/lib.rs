//! Reads programs in JavaScript and TypeScript without running them.
//!
//! # Layout
//! - [`javascript`] (`types`, `result`): the program in a form that an engine can run
//! - [`mod@shape`]: the program without its literals; [`mod@origins`]: the origins of variables
//! - `parse`, `fence`, `nesting`: from text to a syntax tree
//! - `edits`: edits that preserve every line number
//! - `unsupported`: the language features that a program here cannot use

mod edits;
mod fence;
mod nesting;
mod origins;
mod parse;
mod position;
mod result;
mod shape;
#[cfg(test)]
mod tests;
mod types;
mod unsupported;

use oxc_allocator::Allocator;
use serde::{Deserialize, Serialize};

pub use origins::{VariableOrigin, origins};
pub use shape::shape;

/// A mistake that prevents a program from running, with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxMistake {
    pub message: String,
    /// One-based, in the program as its author wrote it.
    pub line: usize,
    /// One-based, in characters.
    pub column: usize,
    /// A remedy, if one is known.
    pub hint: Option<String>,
}

/// A program whose calls' literal arguments are extracted, so that programs that differ only in
/// these are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramShape {
    /// The program, in JavaScript without comments, that reads the literals from `params`.
    pub code: String,
    pub literals: Vec<ShapeLiteral>,
    /// The tools that the program calls by a literal name, each as written there.
    pub tools: Vec<ToolPath>,
    /// The first comment of the program, in which models describe its purpose.
    pub purpose: Option<String>,
}

/// A literal that was extracted from a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeLiteral {
    /// The name with which the program reads it: `params.<name>`.
    pub name: String,
    pub value: serde_json::Value,
}

/// How a program names a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPath {
    /// `call("github__create_issue", …)`.
    Exposed(String),
    /// `tools.github.create_issue(…)`.
    Member { server: String, tool: String },
}

/// Turns a program in JavaScript or TypeScript into the body of an async function in JavaScript
/// that returns the result of the program.
///
/// Types become spaces, so the body keeps the program's lines and columns. Only where the
/// result is returned, the rest of a line moves to the right. The body may end in a line comment: a
/// caller that wraps it in a function must close that function on a line of its own.
///
/// # Errors
/// Returns the first mistake of a program that does not parse or uses an unsupported language
/// feature, such as modules.
pub fn javascript(source: &str) -> Result<String, SyntaxMistake> {
    let source = fence::without_fence(source);
    let allocator = Allocator::default();
    let parsed = parse::parse(&allocator, &source)?;
    let mut edits = types::blank(&parsed)?;
    result::return_value(&parsed, &mut edits)?;
    Ok(edits.apply(&source))
}
