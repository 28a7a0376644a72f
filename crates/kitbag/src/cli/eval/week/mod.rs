//! `kitbag eval week`: simulates a week in which three clients do mixed work through one gateway, and
//! measures what learning from it does to searches.
//!
//! # Layout
//! - this file: the verb; `work`: the tasks that the clients do, and the searches that have nothing to do
//!   with them
//! - `clients`: the habits of the clients; `observed`: what the gateway observes of them and learns
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

/// Simulate a week of mixed work, and measure what learning from it does to searches.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A folder with tasks.jsonl, neighbours.jsonl and unrelated.jsonl.
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// A folder whose tools.jsonl has the tools; those of the servers that the tasks use are taken.
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// Another seed makes another week.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval week --work evals/week --dataset real-tools
  kitbag eval week --work evals/week --dataset real-tools --seed 2 --json

Three clients work for seven days: one searches before most of its calls, one
writes programs, and one is told by hooks what the person says. All of them
also make calls without any words. Nothing of it is stored.";

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let index = capability_index(invocation).await?;
    let progress = invocation.output.progress("Indexing tools");
    let work = Work::read(&arguments.work, &arguments.dataset, &index, &progress).await?;
    progress.update("Working for a week");
    let figures = WorkingWeek::new(&work, arguments.seed).run_week();
    drop(progress);
    invocation
        .output
        .show(&figures.json(), |_| figures.for_people())?;
    Ok(ExitCode::SUCCESS)
}
