//! `kitbag learned priors`: success rate, latency and cost of tools.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::Invocation;
use crate::cli::completions::tools;
use crate::cli::failure::Advise as _;
use crate::cli::open_store::open_store;
use crate::cli::output::{format_table, pluralize};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::priors_report::{PriorsReport, PriorsRow, read_report};
use kitbag_gateway::learning::priors::PriorsSummary;
use kitbag_gateway::state::clock::now;

/// Compute and show the success rate, latency and cost of tools.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag learned priors run
  kitbag learned priors show
  kitbag learned priors show github__create_issue --json

A running gateway computes them every night; see [priors] in the configuration.
Values set under [tools] replace measured ones.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Compute priors from new calls.
    #[command(
        after_help = "Examples:\n  kitbag learned priors run\n  kitbag learned priors run --json"
    )]
    Run,
    /// Show the priors of all called tools, or of one.
    #[command(
        after_help = "Examples:\n  kitbag learned priors show\n  kitbag learned priors show github__create_issue"
    )]
    Show {
        /// Tool name, as in `kitbag tools`.
        #[arg(add = ArgValueCandidates::new(tools))]
        name: Option<String>,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Run => compute(invocation).await?,
        Verb::Show { name } => show(name.as_deref(), invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn compute(invocation: &Invocation) -> anyhow::Result<()> {
    let app = App::open(&invocation.config()?).await?;
    let done = app.run_priors().await;
    app.close().await;
    invocation.show(&done?, describe_run)
}

/// Describes a run over the audit.
pub(crate) fn describe_run(summary: &PriorsSummary) -> String {
    format!(
        "Processed {}; priors of {}",
        pluralize(usize::try_from(summary.calls).unwrap_or(usize::MAX), "call"),
        pluralize(summary.tools, "tool")
    )
}

async fn show(name: Option<&str>, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the priors").await?;
    let report = read_report(&config, &store, now()).await;
    store.close().await;
    let mut report = report?;
    if let Some(name) = name {
        report.tools.retain(|row| row.has_name(name));
        if report.tools.is_empty() {
            return Err(anyhow!("no priors for `{name}`"))
                .advise(|| "process the latest calls: kitbag learned priors run".to_owned());
        }
    }
    invocation.show(&report, format_priors)
}

fn format_priors(report: &PriorsReport) -> String {
    let Some(at) = report.priors_updated_at else {
        return "No priors yet. Compute them: kitbag learned priors run".to_owned();
    };
    let heads = [
        "NAME", "SUCCESS", "CALLS", "P50", "P95", "P99", "COST", "TOKENS", "AS OF",
    ];
    let table = format_table(heads, report.tools.iter().map(cells));
    format!("Computed {}\n\n{table}", minute(at))
}

fn cells(row: &PriorsRow) -> [String; 9] {
    [
        row.tool_name.clone(),
        percent(row.success_rate),
        row.calls.to_string(),
        milliseconds(row.p50_latency_ms),
        milliseconds(row.p95_latency_ms),
        milliseconds(row.p99_latency_ms),
        usd(row.estimated_cost_usd),
        row.tokens.map(|it| format!("{it:.0}")).unwrap_or_default(),
        minute(row.last_updated_at),
    ]
}

/// Formats a share as a percentage: `97 %`.
pub(in crate::cli) fn percent(share: Option<f64>) -> String {
    let percent = share.map(|share| format!("{:.0} %", share * 100.0));
    percent.unwrap_or_default()
}

pub(in crate::cli) fn milliseconds(latency: Option<f64>) -> String {
    latency.map(|it| format!("{it} ms")).unwrap_or_default()
}

pub(in crate::cli) fn usd(cost: Option<f64>) -> String {
    cost.map(|it| format!("${it}")).unwrap_or_default()
}

/// Formats seconds since the Unix epoch in local time.
pub(in crate::cli) fn minute(at: i64) -> String {
    let moment = Timestamp::from_second(at).unwrap_or_default();
    let local = moment.to_zoned(TimeZone::system());
    local.strftime("%Y-%m-%d %H:%M").to_string()
}
