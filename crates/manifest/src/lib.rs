//! Reads tool files and the manifest, and checks one against the other.
//!
//! # Layout
//! - [`file`](mod@file): a tool file, and the mistakes in one
//! - [`definition`](mod@definition): the tool as MCP clients see it; `union`: one schema for several actions

pub mod definition;
#[cfg(test)]
mod definition_tests;
pub mod file;
mod union;

pub use definition::{definition, examples};
pub use file::mistake::{ToolFileError, ToolFileMistake};
pub use file::{DeclaredCost, NoSuchAction, ToolAction, ToolFile};
