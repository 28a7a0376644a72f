//! `kitbag eval`: measures tool search, learning from use, and how models use tools.

mod agents;
mod candidates;
mod environments;
mod figures;
mod learning;
mod plan;
mod retrieval;
mod server;
mod sets;
mod surfaces;
mod task_figures;
mod week;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Invocation;

pub(super) use sets::read_tools;

/// Measure tool search, learning from use, and models' use of tools.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval retrieval --dataset evals/p0
  kitbag eval learning --dataset evals/small
  kitbag eval week --work evals/week --dataset real-tools
  kitbag eval agents --suite suite.json --model anthropic:claude-sonnet-4-5";

#[derive(Debug, Subcommand)]
enum Verb {
    Retrieval(retrieval::Arguments),
    Learning(learning::Arguments),
    Week(week::Arguments),
    Agents(Box<agents::Arguments>),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Retrieval(arguments) => retrieval::run(&arguments, invocation).await,
        Verb::Learning(arguments) => learning::run(&arguments, invocation).await,
        Verb::Week(arguments) => week::run(&arguments, invocation).await,
        Verb::Agents(arguments) => agents::run(&arguments, invocation).await,
    }
}
