//! `kitbag audit`: shows calls, searches, rejections and changes with their actor and outcome.

mod export;
mod filter;
mod runs;
mod show;
mod text;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use kitbag_domain::Outcome;
use kitbag_store::{AuditPage, AuditQuery, AuditRow, Store};

use self::filter::AuditFilter;
use super::Invocation;
use super::output::Output;
use crate::cli::open_store::open_store;
use kitbag_gateway::telemetry::audit::AuditLine;

/// Show calls, searches, rejections and changes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    filter: AuditFilter,
    /// Maximum number of rows; the newest are shown.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: u32,
    /// Keep showing new rows until interrupted.
    #[arg(long, short)]
    follow: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag audit
  kitbag audit --tenant acme --outcome failed --since 2h
  kitbag audit --tool 'git__*' -n 200 --json
  kitbag audit --event search --event discovery --tenant acme
  kitbag audit --event key_refused --since 2026-11-01
  kitbag audit -f --server git
  kitbag audit --client cursor --outcome denied
  kitbag audit --run 4f1c09d2
  kitbag audit runs
  kitbag audit show 4711
  kitbag audit export --format csv --output audit.csv --since 30d

Results of calls are not recorded; arguments only if [audit] says so.
With --json, each row is one line.";

#[derive(Debug, Subcommand)]
enum Verb {
    Show(show::Arguments),
    Runs(runs::Arguments),
    Export(Box<export::Arguments>),
}

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the audit log").await?;
    match &arguments.verb {
        Some(Verb::Export(arguments)) => export::run(arguments, &store, invocation.output).await?,
        Some(Verb::Show(arguments)) => show::run(arguments, &store, invocation.output).await?,
        Some(Verb::Runs(arguments)) => runs::run(arguments, &store, invocation.output).await?,
        None => list(arguments, &store, invocation.output).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(arguments: &Arguments, store: &Store, output: Output) -> anyhow::Result<()> {
    let query = arguments.filter.to_query(arguments.limit);
    let mut newest = store.newest_audit_row_id().await?;
    let mut rows = store.read_audit(&query).await?;
    // Oldest first: the newest row is at the bottom, where `follow` appends.
    rows.reverse();
    if rows.is_empty() && !arguments.follow {
        output.note("No matching audit rows.");
        return Ok(());
    }
    if output.json || arguments.follow {
        print_rows(&rows, output)?;
    } else {
        output.print(&text::format_table_of(&rows))?;
    }
    if !arguments.follow {
        return Ok(());
    }
    newest = newest.max(rows.iter().map(|row| row.id).max().unwrap_or(0));
    tokio::select! {
        ended = follow(query, newest, store, output) => ended,
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// Polls for new rows. An unfinished call is printed once it has finished.
async fn follow(
    mut query: AuditQuery,
    newest: i64,
    store: &Store,
    output: Output,
) -> anyhow::Result<()> {
    const EVERY: Duration = Duration::from_millis(200);
    query.limit = u32::MAX;
    let mut newest = newest;
    let mut unfinished = Vec::new();
    loop {
        query.page = AuditPage::WrittenAfter { id: newest };
        let (started, mut ended): (Vec<_>, Vec<_>) = store
            .read_audit(&query)
            .await?
            .into_iter()
            .partition(|row| row.outcome == Outcome::Unfinished);
        let rows = started.iter().chain(&ended);
        newest = rows.map(|row| row.id).max().unwrap_or(newest);
        let (still, done): (Vec<_>, Vec<_>) = store
            .read_audit_rows(&unfinished)
            .await?
            .into_iter()
            .partition(|row| row.outcome == Outcome::Unfinished);
        unfinished = still.into_iter().chain(started).map(|row| row.id).collect();
        ended.extend(done);
        ended.sort_by_key(|row| row.id);
        print_rows(&ended, output)?;
        tokio::time::sleep(EVERY).await;
    }
}

fn print_rows(rows: &[AuditRow], output: Output) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = if output.json {
        rows.iter().map(to_json_line).collect::<Result<_, _>>()?
    } else {
        rows.iter().map(text::format_line).collect()
    };
    output.print(&lines.join("\n"))
}

fn to_json_line(row: &AuditRow) -> serde_json::Result<String> {
    serde_json::to_string(&AuditLine::from_row(row))
}
