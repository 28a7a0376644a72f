//! Reads programs in JavaScript and TypeScript without running them.
//!
//! # Layout
//! - [`javascript`] (`types`, `result`): the program that an engine can run
//! - [`mod@shape`]: the program without its literals; [`mod@origins`]: where variables come from
//! - `parse`, `fence`, `nesting`: from text to a syntax tree
//! - `edits`: changes to a text that leave every line where it was
//! - `unsupported`: the parts of the languages that a program here cannot use

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

/// A mistake in a program that keeps it from being run, with the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxMistake {
    pub message: String,
    /// Counted from 1, in the program as its author wrote it.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// A remedy, where one is known.
    pub hint: Option<String>,
}

/// A program with the literals in the arguments of its calls taken out, so that programs that
/// differ only in these are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramShape {
    /// The program, in JavaScript without comments, that reads the literals from `params`.
    pub code: String,
    pub literals: Vec<ShapeLiteral>,
    /// The tools that the program calls by a name that stands in it, each as it is written there.
    pub tools: Vec<ToolPath>,
    /// The first comment of the program, in which models say what it is for.
    pub purpose: Option<String>,
}

/// A literal that was taken out of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeLiteral {
    /// The name by which the program reads it: `params.<name>`.
    pub name: String,
    pub value: serde_json::Value,
}

/// The way in which a program names a tool.
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
/// Types become spaces, so a line and a column in the body are those of the program. Only where
/// the result is handed back, the rest of a line moves to the right. The body may end in a line
/// comment: the caller that wraps it in a function closes that function on a line of its own.
///
/// # Errors
/// Returns the first mistake of a program that does not parse or uses a part of the languages that
/// is missing here, such as modules.
pub fn javascript(source: &str) -> Result<String, SyntaxMistake> {
    let source = fence::without(source);
    let allocator = Allocator::default();
    let parsed = parse::parse(&allocator, &source)?;
    let mut edits = types::blank(&parsed)?;
    result::hand_back(&parsed, &mut edits)?;
    Ok(edits.apply(&source))
}
