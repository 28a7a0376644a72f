//! `kitbag eval`: measures how well tools are found, and how well models use them.

mod agents;
mod candidates;
mod figures;
mod plan;
mod retrieval;
mod server;
mod surfaces;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Invocation;

/// Measure how well tools are found, and how well models use them.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval retrieval --dataset evals/p0
  kitbag eval agents --suite suite.json --model anthropic:claude-sonnet-4-5";

#[derive(Debug, Subcommand)]
enum Verb {
    Retrieval(retrieval::Arguments),
    Agents(Box<agents::Arguments>),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Retrieval(arguments) => retrieval::run(&arguments, invocation).await,
        Verb::Agents(arguments) => agents::run(&arguments, invocation).await,
    }
}
