//! `kitbag learned`: lessons and priors from the use of tools.
//!
//! - `priors`: success rate, latency and cost of each tool
//! - `text`: formats lessons; `exchange`: exports and imports them

mod exchange;
pub(super) mod priors;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use kitbag_domain::{Action, Event, KeyId, Tenant, Timestamp};
use kitbag_gateway::telemetry::audit::filters::parse_time;
use kitbag_store::{LessonFilter, Store};
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::output::{format_table, pluralize};
use crate::cli::open_store::open_store;
use crate::trail;

/// Show, export and delete what was learned from tool use.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag learned list
  kitbag learned show github__create_issue
  kitbag learned forget --tool github__create_issue
  kitbag learned forget --tenant acme --before 30d
  kitbag learned export --output lessons.jsonl
  kitbag learned priors show

A lesson records that a tool was used, failed or was passed over in a given
context. `kitbag search --explain` shows the lessons behind a rank.";

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Lessons(LessonsVerb),
    Priors(priors::Arguments),
}

#[derive(Debug, Subcommand)]
enum LessonsVerb {
    /// List tools with lessons.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag learned list\n  kitbag learned list --tenant acme --json"
    )]
    List(TenantFilter),
    /// Show the lessons of a tool.
    #[command(after_help = "Examples:\n  kitbag learned show github__create_issue")]
    Show {
        /// Tool name as clients call it.
        tool: String,
        #[command(flatten)]
        of: TenantFilter,
    },
    /// Delete lessons permanently; a running gateway follows within a second.
    #[command(
        after_help = "Examples:\n  kitbag learned forget --tool github__create_issue\n  \
                      kitbag learned forget --tenant acme --before 30d\n  \
                      kitbag learned forget --all"
    )]
    Forget(LessonSelection),
    /// Export lessons as JSON Lines; they contain the query only if it is stored.
    #[command(
        after_help = "Examples:\n  kitbag learned export --output lessons.jsonl\n  \
                      kitbag learned export --tenant acme"
    )]
    Export {
        #[command(flatten)]
        of: TenantFilter,
        /// Output file; must not exist yet [default: stdout].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Import lessons from a file written by `kitbag learned export`.
    #[command(after_help = "Examples:\n  kitbag learned import lessons.jsonl\n  \
                      kitbag learned import lessons.jsonl --tenant acme")]
    Import {
        file: PathBuf,
        /// Assign all lessons to this tenant instead of those in the file.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
}

#[derive(Debug, Args)]
struct TenantFilter {
    /// Only lessons of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
}

#[derive(Debug, Args)]
struct LessonSelection {
    /// Only lessons of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only lessons about this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only lessons from this key, by its ID.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Only lessons before this time: `30d` ago, or a date.
    #[arg(long, value_name = "WHEN", value_parser = parse_time)]
    before: Option<Timestamp>,
    /// All lessons of all tenants.
    #[arg(long, conflicts_with_all = ["tenant", "tool", "key", "before"])]
    all: bool,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Lessons(verb) => run_lessons(verb, invocation).await,
        Verb::Priors(arguments) => priors::run(arguments, invocation).await,
    }
}

async fn run_lessons(verb: LessonsVerb, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the stored lessons").await?;
    match verb {
        LessonsVerb::List(of) => list(&store, of, invocation).await?,
        LessonsVerb::Show { tool, of } => show(&store, tool, of, invocation).await?,
        LessonsVerb::Forget(wanted) => forget(&store, wanted, invocation).await?,
        LessonsVerb::Export { of, output } => {
            let lessons = store.lessons(&of.into_filter()).await?;
            exchange::export(&lessons, output.as_deref(), invocation)?;
        }
        LessonsVerb::Import { file, tenant } => {
            exchange::import(&store, &file, tenant.as_ref(), invocation).await?;
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn list(store: &Store, of: TenantFilter, invocation: &Invocation) -> anyhow::Result<()> {
    let lessons = store.lessons(&of.into_filter()).await?;
    let rows = text::group_by_tool(&lessons);
    if rows.is_empty() && !invocation.output.json {
        invocation.note("No lessons yet. They come from searches and calls by clients.");
        return Ok(());
    }
    let headings = [
        "TOOL", "TENANT", "LESSONS", "USED", "FAILED", "PASSED", "LAST",
    ];
    invocation.show(&rows, |rows| {
        format_table(headings, rows.iter().map(text::cells))
    })
}

async fn show(
    store: &Store,
    tool: String,
    of: TenantFilter,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let filter = LessonFilter {
        tool: Some(tool.clone()),
        ..of.into_filter()
    };
    let lessons = store.lessons(&filter).await?;
    if lessons.is_empty() {
        return Err(anyhow!("no lessons about `{tool}`"))
            .advise(|| "list tools with lessons: kitbag learned list".to_owned());
    }
    let rows: Vec<_> = lessons.iter().map(text::to_row).collect();
    let headings = ["LESSON", "TENANT", "WHEN", "SIGNAL", "WORDS"];
    invocation.show(&rows, |rows| {
        format_table(headings, rows.iter().map(text::lesson_cells))
    })
}

async fn forget(
    store: &Store,
    wanted: LessonSelection,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let (subject, filter) = wanted.describe()?;
    let forgotten = store.delete_lessons(&filter).await?;
    let event = trail::change_event("kitbag learned forget", Action::LessonsForgotten, &subject);
    let tenant = filter.tenant.clone();
    trail::record_event(store, Event { tenant, ..event }).await?;
    let report = json!({ "forgotten": forgotten });
    invocation.show(&report, |_| {
        format!("Deleted {}", pluralize(forgotten as usize, "lesson"))
    })
}

impl TenantFilter {
    fn into_filter(self) -> LessonFilter {
        LessonFilter {
            tenant: self.tenant,
            ..LessonFilter::default()
        }
    }
}

impl LessonSelection {
    /// Returns the filter and its description for the audit log.
    fn describe(self) -> anyhow::Result<(String, LessonFilter)> {
        let tenant = self.tenant.as_ref().map(|it| format!("tenant {it}"));
        let tool = self.tool.as_ref().map(|it| format!("tool {it}"));
        let key = self.key.as_ref().map(|it| format!("key {it}"));
        let before = self.before.map(|_| "old ones".to_owned());
        let all = self.all.then(|| "all".to_owned());
        let parts: Vec<String> = [tenant, tool, key, before, all]
            .into_iter()
            .flatten()
            .collect();
        if parts.is_empty() {
            return Err(anyhow!("no lessons selected")).advise(|| {
                "select lessons by --tool, --tenant, --key or --before, or pass --all".to_owned()
            });
        }
        let filter = LessonFilter {
            tenant: self.tenant,
            tool: self.tool,
            credential: self.key.map(KeyId),
            before: self.before,
            after_id: 0,
        };
        Ok((parts.join(", "), filter))
    }
}
