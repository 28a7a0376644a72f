//! `kitbag audit runs`: the latest runs of programs.

use clap::Args;
use kitbag_domain::Tenant;
use kitbag_store::{AuditPage, RunQuery, RunSummary, Store};
use serde::Serialize;

use super::text::{format_seconds, format_time};
use crate::cli::output::{Output, format_table};

/// List the latest runs of programs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag audit runs\n  kitbag audit runs --tenant acme -n 100 --json"
)]
pub(super) struct Arguments {
    /// Only runs of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Maximum number of runs.
    #[arg(long, short = 'n', default_value_t = 25, value_name = "N")]
    limit: usize,
}

#[derive(Debug, Serialize)]
struct RunLine {
    run: String,
    tenant: Option<Tenant>,
    client: Option<String>,
    started: String,
    seconds: f64,
    calls: u64,
    searches: u64,
    /// Calls that did not succeed.
    failed: u64,
    tokens: u64,
}

pub(super) async fn run(
    arguments: &Arguments,
    store: &Store,
    output: Output,
) -> anyhow::Result<()> {
    let query = RunQuery {
        limit: arguments.limit,
        tenant: arguments.tenant.clone(),
        page: AuditPage::Newest,
    };
    let runs = store.recent_runs(&query).await?.runs;
    if runs.is_empty() && !output.json {
        output.note("No runs of programs.");
        return Ok(());
    }
    let lines: Vec<RunLine> = runs.into_iter().map(RunLine::new).collect();
    let headings = ["STARTED", "RUN", "CALLS", "FAILED", "TOOK", "TOKENS", "WHO"];
    output.show(&lines, |lines| {
        format_table(headings, lines.iter().map(cells))
    })
}

impl RunLine {
    fn new(run: RunSummary) -> Self {
        Self {
            started: format_time(run.started),
            seconds: (run.last.0 - run.started.0).max(0) as f64 / 1000.0,
            run: run.run,
            tenant: run.tenant,
            client: run.client,
            calls: run.calls,
            searches: run.searches,
            failed: run.failed,
            tokens: run.tokens,
        }
    }
}

fn cells(line: &RunLine) -> [String; 7] {
    let tenant = line.tenant.as_ref().map(ToString::to_string);
    let client = line.client.as_ref().map(|client| format!("({client})"));
    let who: Vec<String> = tenant.into_iter().chain(client).collect();
    [
        line.started.clone(),
        line.run.clone(),
        line.calls.to_string(),
        line.failed.to_string(),
        format_seconds(std::time::Duration::from_secs_f64(line.seconds)),
        line.tokens.to_string(),
        who.join(" "),
    ]
}
