//! `kitbag openapi`: tool files from the OpenAPI documents of other people's APIs.
//!
//! - `document`: reads a document from a file or an address
//! - `import`: makes the files, checks them, and says what to do next

mod document;
mod import;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Invocation;

/// Make tool files from OpenAPI documents.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag openapi import openapi.yaml --dry-run
  kitbag openapi import openapi.json --out tools --name desk";

#[derive(Debug, Subcommand)]
enum Verb {
    Import(Box<import::Arguments>),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let Verb::Import(arguments) = arguments.verb;
    import::run(*arguments, invocation).await
}
