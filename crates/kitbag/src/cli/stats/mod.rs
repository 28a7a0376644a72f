//! `kitbag stats`: the counters of the running gateway, and the tokens that tools cost.
//!
//! - `history`: calls and tokens of the last day by hour
//! - `tokens`: the token cost of a surface

mod history;
mod tokens;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::Invocation;
use super::failure::Advise as _;
use super::gateway::ask_running_gateway;
use super::output::format_table;
use crate::local::requests::GetFigures;

/// Show the running gateway's counters and the token cost of tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    History(history::Arguments),
    Tokens(tokens::Arguments),
}

const EXAMPLES: &str = "\
Examples:
  kitbag stats
  kitbag stats --json
  kitbag stats history
  kitbag stats tokens

Counters start at zero when the gateway starts. Token counts are estimates. For
a longer history, use Prometheus or an OpenTelemetry collector.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Some(Verb::History(arguments)) => history::run(&arguments, invocation).await,
        Some(Verb::Tokens(arguments)) => tokens::run(arguments, invocation).await,
        None => show_counters(invocation).await,
    }
}

async fn show_counters(invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let counted = ask_running_gateway(GetFigures {}, &config, invocation).await;
    let counted = counted
        .ok_or_else(|| anyhow!("no gateway is running for this configuration"))
        .advise(|| "start one: kitbag serve".to_owned())??;
    invocation.show(&counted, format_counters)?;
    Ok(ExitCode::SUCCESS)
}

fn format_counters(counted: &Value) -> String {
    let tables = [
        format_section(
            counted,
            "surfaces",
            &["tenant", "surface", "lists", "shown", "saved"],
        ),
        format_section(
            counted,
            "operations",
            &["tenant", "path", "count", "asked", "answered", "efficiency"],
        ),
        format_section(
            counted,
            "templates",
            &["tenant", "template", "runs", "succeeded", "answered"],
        ),
        format_section(counted, "events", &["tenant", "event", "count"]),
        format_section(counted, "tools", &["tenant", "tool", "answers", "returned"]),
        format_section(
            counted,
            "callers",
            &[
                "tenant",
                "key",
                "requests",
                "max_requests",
                "bytes",
                "max_bytes",
            ],
        ),
    ];
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    match tables.is_empty() {
        true => "No counts yet.".to_owned(),
        false => tables.join("\n\n"),
    }
}

/// Maximum rows per table; `--json` has all.
const MAX_ROWS: usize = 20;

fn format_section<const N: usize>(
    counted: &Value,
    name: &str,
    columns: &[&str; N],
) -> Option<String> {
    let rows = counted[name].as_array().filter(|rows| !rows.is_empty())?;
    let cells = rows
        .iter()
        .take(MAX_ROWS)
        .map(|row| columns.map(|column| cell(&row[column])));
    let heads = columns.map(str::to_uppercase);
    Some(format_table(heads.each_ref().map(String::as_str), cells))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.0} %", 100.0 * number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}
