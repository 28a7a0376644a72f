//! `kitbag learned curve`: how many searches clients need for one successful call, by day.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use kitbag_gateway::admin::search_curve::{SearchCurve, SearchDay};
use kitbag_gateway::state::clock::now;
use serde_json::json;

use crate::cli::Invocation;
use crate::cli::open_store::open_store;
use crate::cli::output::{format_date, format_table};

/// Show how many searches clients need for one successful call.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag learned curve\n  kitbag learned curve --days 90 --json"
)]
pub(super) struct Arguments {
    /// The number of days, up to today.
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let store = open_store(&invocation.config()?, "cannot open the audit").await?;
    let curve = SearchCurve::default();
    let counted = curve
        .count_days(&store, arguments.days, now(), Duration::MAX)
        .await;
    store.close().await;
    let mut days = counted?.days;
    days.retain(|day| day.searches + day.calls > 0);
    let rows: Vec<_> = days.iter().map(to_json).collect();
    invocation.show(&rows, |_| match days.is_empty() {
        true => "No searches and no calls by clients yet.".to_owned(),
        false => {
            let headings = ["DAY", "SEARCHES", "CALLS", "SEARCHES PER CALL"];
            format_table(headings, days.iter().map(cells))
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the day without a time.
fn date(day: &SearchDay) -> String {
    format_date(day.start()).chars().take(10).collect()
}

fn to_json(day: &SearchDay) -> serde_json::Value {
    json!({
        "day": date(day),
        "searches": day.searches,
        "calls": day.calls,
        "searches_per_call": day.searches_per_call(),
    })
}

fn cells(day: &SearchDay) -> [String; 4] {
    let ratio = day.searches_per_call();
    [
        date(day),
        day.searches.to_string(),
        day.calls.to_string(),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
    ]
}
