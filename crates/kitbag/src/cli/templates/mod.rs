//! `kitbag templates`: the programs that carry out intents, with those that were learned.
//!
//! - `known`: all templates of all origins, and how one is found by its name
//! - `text`: a template for people; `exchange`: templates to and from files
//! - `make`: a template from the definition of a tool

mod exchange;
mod known;
mod make;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_domain::{Action, Event, Tenant};
use kitbag_gateway::learning::learned_templates::{self, LearnedRow};
use kitbag_gateway::state::clock::now;
use kitbag_intents::LearnedTemplate;
use kitbag_store::Store;
use serde_json::json;

use self::known::{FoundTemplate, KnownTemplates};
pub(super) use self::make::reads;
use super::Invocation;
use super::completions::templates;
use super::failure::Advise as _;
use super::output::format_table;
use crate::cli::open_store::open_store;
use crate::trail;

/// Show the templates that carry out intents, and decide over learned ones.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag templates list
  kitbag templates show list_errors
  kitbag templates approve learned_list_issues_3f9c1a
  kitbag templates export list_errors --output list_errors.toml
  kitbag templates import list_errors.toml --tenant acme
  kitbag templates make time__convert_time

A template is a program that carries out requests such as `list errors`. Some
come with Kitbag, some are files in the folder `templates` beside the database,
and some are learned from programs that worked.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show all templates and candidates, with their state.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag templates list\n  kitbag templates list --tenant acme --json"
    )]
    List {
        /// Learned templates of this tenant alone.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
    /// Show one template with its intents, parameters and program.
    #[command(after_help = "Examples:\n  kitbag templates show list_errors")]
    Show(NamedTemplate),
    /// Let a learned or imported template answer requests, whatever comes.
    #[command(after_help = "Examples:\n  kitbag templates approve learned_list_issues_3f9c1a")]
    Approve(NamedTemplate),
    /// Let a learned template answer nothing, and not learn it again.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag templates remove learned_list_issues_3f9c1a"
    )]
    Remove(NamedTemplate),
    /// Write a template as a file that can be imported or put into the folder.
    #[command(after_help = "Examples:\n  kitbag templates export list_errors\n  \
                      kitbag templates export list_errors --output list_errors.toml")]
    Export {
        #[command(flatten)]
        named: NamedTemplate,
        /// The file, which must not exist yet; stdout unless given.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make a template from a tool, to be changed and put into the folder.
    #[command(
        after_help = "Examples:\n  kitbag templates make time__convert_time\n  \
                      kitbag templates make time__convert_time --output convert.toml"
    )]
    Make(make::Arguments),
    /// Take a template from a file; it answers nothing before it is approved.
    #[command(
        after_help = "Examples:\n  kitbag templates import list_errors.toml\n  \
                      kitbag templates import list_errors.toml --tenant acme"
    )]
    Import {
        file: PathBuf,
        /// The tenant that gets it, `local` unless given.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
}

#[derive(Debug, Args)]
struct NamedTemplate {
    /// As `kitbag templates list` shows it.
    #[arg(add = ArgValueCandidates::new(templates))]
    name: String,
    /// The tenant, if several have a learned template of that name.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    if let Verb::Make(arguments) = arguments.verb {
        make::make(&arguments, invocation).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = open_store(&config, "the learned templates cannot be reached").await?;
    let known = KnownTemplates::read(&config, &store).await?;
    match arguments.verb {
        Verb::List { tenant } => list(&known, tenant.as_ref(), invocation)?,
        Verb::Show(named) => show(known.find(&named)?, invocation)?,
        Verb::Approve(named) => {
            decide(TemplateVerdict::Approve, &known, &named, &store, invocation).await?;
        }
        Verb::Remove(named) => {
            decide(TemplateVerdict::Remove, &known, &named, &store, invocation).await?;
        }
        Verb::Export { named, output } => {
            let found = known.find(&named)?;
            exchange::export(found.template(), output.as_deref(), invocation)?;
        }
        // Needs no store.
        Verb::Make(_) => {}
        Verb::Import { file, tenant } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            exchange::import(&file, &tenant, &known, &store, invocation).await?;
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn list(
    known: &KnownTemplates,
    tenant: Option<&Tenant>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    for complaint in &known.complaints {
        invocation.output.warn(complaint);
    }
    let rows: Vec<_> = known
        .all()
        .filter(|found| tenant.is_none() || found.tenant().is_none_or(|it| Some(it) == tenant))
        .map(|found| text::row(&found))
        .collect();
    let headings = ["NAME", "ORIGIN", "TENANT", "STATE", "RUNS", "INTENT"];
    invocation.output.show(&rows, |rows| {
        format_table(headings, rows.iter().map(text::cells))
    })
}

fn show(found: FoundTemplate<'_>, invocation: &Invocation) -> anyhow::Result<()> {
    let whole = text::whole(&found);
    invocation.output.show(&whole, |_| text::page(&found))
}

/// A person's decision over a learned template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateVerdict {
    Approve,
    Remove,
}

async fn decide(
    verdict: TemplateVerdict,
    known: &KnownTemplates,
    named: &NamedTemplate,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let row = learned(known.find(named)?)?;
    let (tenant, id) = (&row.tenant, row.learned.id());
    let changed =
        learned_templates::change_template(store, tenant, id, now(), |it| verdict.apply(it?))
            .await?;
    if changed.is_none() {
        return Err(anyhow!("`{}` was forgotten meanwhile", named.name))
            .advise(|| "see which there are with `kitbag templates list`".to_owned());
    }
    let name = row.learned.template().name();
    let event = trail::change_event(verdict.command(), verdict.action(), name.as_str());
    let tenant = Some(tenant.clone());
    trail::record_event(store, Event { tenant, ..event }).await?;
    let told = json!({ "name": name, "tenant": row.tenant, "state": verdict.state() });
    invocation
        .output
        .show(&told, |_| format!("{} {name}", verdict.done()))
}

/// Only learned templates are in the store; the others are files.
fn learned(found: FoundTemplate<'_>) -> anyhow::Result<&LearnedRow> {
    match found {
        FoundTemplate::Learned(row) => Ok(row),
        FoundTemplate::File { entry, folder } => {
            let (name, origin) = (entry.template.name(), entry.origin);
            Err(anyhow!("`{name}` is not learned but {origin}")).advise(|| {
                format!(
                    "change its file, or put one of that name into {}",
                    folder.display()
                )
            })
        }
    }
}

impl TemplateVerdict {
    /// Returns nothing if the template is gone.
    fn apply(self, learned: LearnedTemplate) -> Option<LearnedTemplate> {
        Some(match self {
            Self::Approve => learned.approve(now()).0,
            Self::Remove => learned.reject(now()).0,
        })
    }

    fn action(self) -> Action {
        match self {
            Self::Approve => Action::TemplateApproved,
            Self::Remove => Action::TemplateRemoved,
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Approve => "kitbag templates approve",
            Self::Remove => "kitbag templates remove",
        }
    }

    fn state(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Remove => "removed",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Approve => "Approved",
            Self::Remove => "Removed, and not learned again:",
        }
    }
}
