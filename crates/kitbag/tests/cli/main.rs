//! The verbs of the command line, through the real binary.
//!
//! # Layout
//! - [`servers`]: `kitbag servers`
//! - [`tools`]: `kitbag tools`, `kitbag describe` and `kitbag call`
//! - [`keys_and_secrets`]: `kitbag key` and `kitbag secret`
//! - [`templates`]: `kitbag templates`
//! - [`configuration`]: files, variables and flags

mod configuration;
mod keys_and_secrets;
mod servers;
mod templates;
mod tools;
