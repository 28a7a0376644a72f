//! `kitbag stats history`: calls, failures, latency and tokens of the last day by hour.

use std::process::ExitCode;

use clap::Args;
use kitbag_gateway::admin::app::{HourOfUse, UseHistory};

use crate::cli::Invocation;
use crate::cli::gateway::{CommandGateway, JoinChoice};
use crate::cli::output::format_table;
use crate::local::requests::GetHistory;

/// Show calls, failures, latency and tokens of the last 24 hours.
///
/// Calls are counted in the audit. Tokens of lists are counted since the gateway was started.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag stats history
  kitbag stats history --json

Hours are in UTC. Token counts are estimates.";

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let history = gateway.ask(GetHistory {}).await;
    gateway.close().await;
    invocation.show(&history?, format_history)?;
    Ok(ExitCode::SUCCESS)
}

fn format_history(history: &UseHistory) -> String {
    let heads = [
        "HOUR", "CALLS", "FAILED", "REJECTED", "P50", "P95", "SPENT", "SAVED",
    ];
    let rows = history.hours.iter().map(|hour| cells(&label(hour), hour));
    let total = [cells("total", &history.total)];
    format_table(heads, rows.chain(total))
}

fn label(hour: &HourOfUse) -> String {
    let start = jiff::Timestamp::from_millisecond(hour.start.0).unwrap_or_default();
    start.strftime("%m-%d %H:00").to_string()
}

fn cells(label: &str, hour: &HourOfUse) -> [String; 8] {
    let latency = |ms: Option<f64>| ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    [
        label.to_owned(),
        hour.calls.to_string(),
        hour.failed.to_string(),
        hour.rejected.to_string(),
        latency(hour.p50_latency_ms),
        latency(hour.p95_latency_ms),
        hour.tokens_spent.to_string(),
        hour.tokens_saved.to_string(),
    ]
}
