//! Parses tool files and the manifest, and checks one against the other.
//!
//! # Layout
//! - [`file`](mod@file): a tool file, and the mistakes in one
//! - [`catalog`]: the tools of the catalog; `built_in`: the tools of the binary; [`directories`]:
//!   the tools of directories
//! - [`manifest`]: the list of the tools that may exist; `markdown`: its tables
//! - [`checks`]: the checks before a catalog is deployed
//! - [`dated`]: models, prices, routes and profiles, by the day
//! - [`openapi`]: tool files generated from OpenAPI documents
//! - [`definition`](mod@definition): the tool as MCP clients see it; `union`: one schema for several actions

mod built_in;
pub mod catalog;
pub mod checks;
pub mod dated;
pub mod definition;
#[cfg(test)]
mod definition_tests;
pub mod directories;
pub mod file;
pub mod manifest;
mod markdown;
pub mod openapi;
mod union;

pub use built_in::model_providers;
pub use catalog::ToolCatalog;
pub use checks::{
    CheckFinding, CheckId, CheckInput, LoosePart, NoSuchCheck, ToolPage, check, check_manifest,
    check_tool, loose_parts,
};
pub use dated::DatedData;
pub use definition::{definition, examples};
pub use directories::CatalogDirectories;
pub use file::mistake::{ToolFileError, ToolFileMistake};
pub use file::{DeclaredCost, NoSuchAction, ToolAction, ToolFile};
pub use manifest::Manifest;
