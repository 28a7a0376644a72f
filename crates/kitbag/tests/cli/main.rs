//! The verbs of the command line, through the real binary.
//!
//! # Layout
//! - [`servers`]: `kitbag servers`
//! - [`tools`]: `kitbag tools`, `kitbag tools show` and `kitbag call`
//! - [`keys_and_secrets`]: `kitbag key` and `kitbag secret`
//! - [`check`]: `kitbag tools check`; [`openapi`]: `kitbag tools import`
//! - [`templates`]: `kitbag templates`
//! - [`context`]: `kitbag context`; [`demo`]: `kitbag demo`
//! - [`hooks`]: `kitbag install --hook`
//! - [`configuration`]: files, variables and flags

mod check;
mod configuration;
mod context;
mod demo;
mod hooks;
mod keys_and_secrets;
mod openapi;
mod servers;
mod templates;
mod tools;
