//! `kitbag learned`: lessons and priors from the use of tools.
//!
//! - `priors`: success rate, latency and cost of each tool
//! - `text`: formats lessons; `exchange`: exports and imports them
//! - `forget`: deletes selected lessons; `mark`: teaches a search; `curve`: searches needed per call

mod curve;
mod exchange;
pub(crate) mod forget;
pub(crate) mod mark;
pub(crate) mod priors;
pub(crate) mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use kitbag_domain::{Action, Tenant};
use kitbag_store::{LessonFilter, Store};
use serde_json::json;

use self::forget::{LessonSelection, forget_lessons};
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
  kitbag learned mark github__create_issue --query 'report a bug'
  kitbag learned curve
  kitbag learned export --output lessons.jsonl
  kitbag learned priors show

A lesson records that a tool was used, failed or was passed over in a given
context. `kitbag search --explain` shows the lessons behind a rank.";

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Lessons(LessonsVerb),
    Mark(mark::Arguments),
    Curve(curve::Arguments),
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
                      kitbag learned forget --lesson 12 --lesson 15\n  \
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

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Lessons(verb) => run_lessons(verb, invocation).await,
        Verb::Mark(arguments) => mark::run(arguments, invocation).await,
        Verb::Curve(arguments) => curve::run(&arguments, invocation).await,
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
    let counts = store.lesson_counts(&of.into_filter()).await?;
    let rows = text::group_by_tool(&counts);
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
    let mut lessons = store.newest_lessons(&filter, None, u32::MAX).await?;
    lessons.reverse();
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
    let forgotten = forget_lessons(store, &wanted, |subject| {
        trail::change_event("kitbag learned forget", Action::LessonsForgotten, subject)
    });
    let forgotten = forgotten.await?;
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
