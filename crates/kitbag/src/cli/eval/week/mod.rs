//! `kitbag eval week`: simulates a week of mixed work by three clients of one gateway, and measures how
//! learning affects searches.
//!
//! # Layout
//! - this file: the verb; `work`: the clients' tasks, and unrelated searches
//! - `clients`: the behaviour of the clients; `observed`: what the gateway observes and learns
//! - `report`: the figures

mod clients;
mod observed;
mod report;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::sets::capability_index;
use crate::cli::Invocation;
use clients::WorkingWeek;
use work::Work;

/// Simulate a week of mixed work, and measure how learning affects searches.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Folder with tasks.jsonl, neighbours.jsonl and unrelated.jsonl.
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// Folder with tools.jsonl; only tools of servers that the tasks use are indexed.
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval week --work evals/week --dataset real-tools
  kitbag eval week --work evals/week --dataset real-tools --seed 2 --json

Three clients work for seven days: one searches before most of its calls, one
writes programs, and one receives the user's prompts through hooks. All of them
also make calls without a search. Nothing is stored.";

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let index = capability_index(invocation).await?;
    let progress = invocation.output.progress("Indexing tools");
    let work = Work::read(&arguments.work, &arguments.dataset, &index, &progress).await?;
    progress.update("Simulating a week");
    let figures = WorkingWeek::new(&work, arguments.seed).run_week();
    drop(progress);
    invocation.show(&figures.to_json(), |_| figures.to_text())?;
    Ok(ExitCode::SUCCESS)
}
