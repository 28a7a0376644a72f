//! `kitbag feedback`: reports by agents about missing or broken capabilities.

use std::process::ExitCode;

use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use kitbag_domain::{Action, Event, Tenant};
use kitbag_gateway::state::clock::now;
use kitbag_platform::feedback::FeedbackKind;
use kitbag_platform::feedback::reports::FeedbackLine;
use kitbag_store::{FeedbackQuery, FeedbackResolution, Store, StoredFeedback};
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::moment::format_relative;
use super::output::{format_table, strip_controls};
use crate::cli::open_store::open_store;
use crate::trail;

/// Read and resolve reports from agents.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag feedback list
  kitbag feedback list --kind missing_capability --tenant acme
  kitbag feedback show 12
  kitbag feedback resolve 12 --note 'the server cad has a tool for this now'

Agents submit reports with the tool submit_feedback.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// List reports, newest first.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag feedback list\n  kitbag feedback list --status all -n 200 --json"
    )]
    List(ListArguments),
    /// Show a report in full.
    #[command(after_help = "Examples:\n  kitbag feedback show 12")]
    Show {
        /// ID of the report.
        id: i64,
    },
    /// Mark reports as resolved.
    #[command(
        after_help = "Examples:\n  kitbag feedback resolve 12\n  kitbag feedback resolve 12 14 --note 'fixed in 1.4'"
    )]
    Resolve {
        /// IDs of the reports.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<i64>,
        /// How the report was resolved.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only reports of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only reports of this kind.
    #[arg(long, value_parser = PossibleValuesParser::new(FeedbackKind::ALL.iter().map(|kind| kind.as_str())))]
    kind: Option<String>,
    #[arg(long, default_value = "open")]
    status: FeedbackStatus,
    /// Maximum number of reports.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FeedbackStatus {
    Open,
    Resolved,
    All,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the reports").await?;
    match arguments.verb {
        Verb::List(wanted) => list(&store, wanted, invocation).await?,
        Verb::Show { id } => show(&store, id, invocation).await?,
        Verb::Resolve { ids, note } => resolve_reports(&store, &ids, note, invocation).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(store: &Store, wanted: ListArguments, invocation: &Invocation) -> anyhow::Result<()> {
    let found = store.list_feedback(&wanted.into_query()).await?;
    if found.is_empty() && !invocation.output.json {
        invocation.note("No matching reports.");
        return Ok(());
    }
    let cells: Vec<_> = found.iter().map(cells).collect();
    let lines: Vec<FeedbackLine> = found.into_iter().map(FeedbackLine::from_stored).collect();
    let headings = ["ID", "WHEN", "STATUS", "KIND", "TENANT", "TOOL", "SUMMARY"];
    invocation.show(&lines, |_| format_table(headings, cells))
}

fn cells(stored: &StoredFeedback) -> [String; 7] {
    let feedback = &stored.feedback;
    let status = match stored.resolved {
        Some(_) => "resolved",
        None => "open",
    };
    [
        stored.id.to_string(),
        format_relative(feedback.at),
        status.to_owned(),
        feedback.kind.clone(),
        feedback.tenant.to_string(),
        feedback.tool.as_deref().unwrap_or_default().to_owned(),
        feedback.summary.clone(),
    ]
}

async fn show(store: &Store, id: i64, invocation: &Invocation) -> anyhow::Result<()> {
    let line = FeedbackLine::from_stored(find_report(store, id).await?);
    invocation.show(&line, format_report)
}

fn format_report(line: &FeedbackLine) -> String {
    let mut text = format!("{} ({}, {})\n", line.summary, line.kind, line.status);
    let facts = [
        ("severity", line.severity.as_ref()),
        ("tool", line.tool.as_ref()),
        ("client", line.client.as_ref()),
        ("key", line.key.as_ref()),
        ("resolved", line.resolved_at.as_ref()),
        ("resolution", line.resolution.as_ref()),
    ];
    text.push_str(&format!("tenant: {}\nreported: {}\n", line.tenant, line.at));
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    if let Some(details) = &line.details {
        text.push_str(&format!("\n{details}\n"));
    }
    strip_controls(&text)
}

async fn resolve_reports(
    store: &Store,
    ids: &[i64],
    note: Option<String>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    for id in ids {
        let event = |subject: &str| {
            trail::change_event("kitbag feedback resolve", Action::FeedbackResolved, subject)
        };
        resolve_report(store, *id, note.clone(), event).await?;
    }
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let report = json!({ "resolved": ids });
    invocation.show(&report, |_| format!("Resolved {}", named.join(", ")))
}

/// Marks a report as resolved, and audits that with the event for its subject. Returns false if it
/// was resolved before.
pub(crate) async fn resolve_report(
    store: &Store,
    id: i64,
    note: Option<String>,
    event: impl FnOnce(&str) -> Event,
) -> anyhow::Result<bool> {
    let found = find_report(store, id).await?;
    let resolution = FeedbackResolution { at: now(), note };
    let is_new = store.resolve_feedback(id, &resolution).await?;
    if is_new {
        let tenant = Some(found.feedback.tenant);
        let event = event(&format!("report {id}"));
        trail::record_event(store, Event { tenant, ..event }).await?;
    }
    Ok(is_new)
}

pub(crate) async fn find_report(store: &Store, id: i64) -> anyhow::Result<StoredFeedback> {
    let found = store.feedback_by_id(id).await?;
    found.ok_or_else(|| unknown_report(id)).advise(list_remedy)
}

fn unknown_report(id: i64) -> anyhow::Error {
    anyhow!("no report with ID {id}")
}

fn list_remedy() -> String {
    "list the reports: kitbag feedback list --status all".to_owned()
}

impl ListArguments {
    fn into_query(self) -> FeedbackQuery {
        FeedbackQuery {
            limit: self.limit,
            tenant: self.tenant,
            kind: self.kind,
            open: match self.status {
                FeedbackStatus::Open => Some(true),
                FeedbackStatus::Resolved => Some(false),
                FeedbackStatus::All => None,
            },
            before_id: None,
        }
    }
}
