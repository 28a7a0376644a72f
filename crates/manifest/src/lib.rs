//! Reads tool files and the manifest, and checks one against the other.
//!
//! # Layout
//! - [`file`](mod@file): a tool file, and the mistakes in one
//! - [`catalog`]: the tools of the catalog; `built_in`: those in the binary; [`directories`]: those of directories
//! - [`definition`](mod@definition): the tool as MCP clients see it; `union`: one schema for several actions

mod built_in;
pub mod catalog;
pub mod definition;
#[cfg(test)]
mod definition_tests;
pub mod directories;
pub mod file;
mod union;

pub use catalog::ToolCatalog;
pub use definition::{definition, examples};
pub use directories::CatalogDirectories;
pub use file::mistake::{ToolFileError, ToolFileMistake};
pub use file::{DeclaredCost, NoSuchAction, ToolAction, ToolFile};
