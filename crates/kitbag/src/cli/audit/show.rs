//! `kitbag audit show`: one row with all its fields, and the searches before it.

use anyhow::anyhow;
use clap::Args;
use kitbag_gateway::telemetry::audit::AuditLine;
use kitbag_gateway::telemetry::audit::preceding_searches::{find_earlier_searches, query_text};
use kitbag_store::Store;
use serde::Serialize;
use serde_json::Value;

use crate::cli::failure::Advise as _;
use crate::cli::output::{Output, strip_controls, to_one_line};

/// Show one row, and the searches that may have led to the call.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag audit show 4711\n  kitbag audit show 4711 --json")]
pub(super) struct Arguments {
    /// ID of the row, as in `kitbag audit --json`.
    id: i64,
}

#[derive(Debug, Serialize)]
struct ShownRow<'a> {
    #[serde(flatten)]
    line: AuditLine<'a>,
    searches: Vec<ShownSearch>,
}

/// A search of the same client shortly before.
#[derive(Debug, Serialize)]
struct ShownSearch {
    id: i64,
    seconds_before: f64,
    query: Option<String>,
    link: &'static str,
}

pub(super) async fn run(
    arguments: &Arguments,
    store: &Store,
    output: Output,
) -> anyhow::Result<()> {
    let id = arguments.id;
    let row = store.read_audit_rows(&[id]).await?.pop();
    let row = row
        .ok_or_else(|| anyhow!("no audit row with ID {id}"))
        .advise(|| "list the rows with their IDs: kitbag audit --json".to_owned())?;
    let searches = find_earlier_searches(store, &row).await?;
    let searches = searches.iter().map(|search| ShownSearch {
        id: search.row.id,
        seconds_before: (row.at.0 - search.row.at.0).max(0) as f64 / 1000.0,
        query: query_text(&search.row),
        link: search.link.describe(),
    });
    let shown = ShownRow {
        line: AuditLine::from_row(&row),
        searches: searches.collect(),
    };
    output.show(&shown, format_row)
}

fn format_row(shown: &ShownRow<'_>) -> String {
    let line = serde_json::to_value(&shown.line).unwrap_or_default();
    let known = AuditLine::COLUMNS.map(|column| (column, &line[column]));
    let mut lines: Vec<String> = known
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(column, value)| format!("{column:<11}{}", format_value(value)))
        .collect();
    lines.extend(shown.searches.iter().map(|search| {
        let query = search.query.as_deref().unwrap_or("(not recorded)");
        format!(
            "search     {} ({}, {:.1} s before, row {})",
            to_one_line(&strip_controls(query)),
            search.link,
            search.seconds_before,
            search.id,
        )
    }));
    lines.join("\n")
}

fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => to_one_line(&strip_controls(text)),
        other => other.to_string(),
    }
}
