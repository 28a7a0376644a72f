//! `kitbag tools`: lists, shows, checks and imports tools.
//!
//! - `list`: the tools that a client sees; `show`: the definition of one tool
//! - `access`: whether a tenant or key may use a tool
//! - [`check`]: checks tool files; `import`: writes tool files for an OpenAPI document

pub(crate) mod access;
mod check;
mod import;
mod list;
pub(super) mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Invocation;

/// List and show tools; check and import tool files.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::Arguments,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools
  kitbag tools create issue
  kitbag tools list --server github --json
  kitbag tools show time__convert_time
  kitbag tools access time__convert_time --tenant acme
  kitbag tools check tools/ticket.toml
  kitbag tools import openapi.yaml --dry-run

Without a subcommand, `kitbag tools` lists the tools a client sees.";

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    Show(show::Arguments),
    Access(access::Arguments),
    Check(check::Arguments),
    Import(Box<import::Arguments>),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb.unwrap_or(Verb::List(arguments.list)) {
        Verb::List(arguments) => list::run(arguments, invocation).await,
        Verb::Show(arguments) => show::run(arguments, invocation).await,
        Verb::Access(arguments) => access::run(arguments, invocation).await,
        Verb::Check(arguments) => check::run(arguments, invocation).await,
        Verb::Import(arguments) => import::run(*arguments, invocation).await,
    }
}
