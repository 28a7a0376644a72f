//! `kitbag templates`: the programs that carry out intents, including learned ones.
//!
//! - `lookup`: all templates, and finding one by name
//! - `text`: formats a template; `exchange`: exports and imports templates
//! - `make`: makes a template from a tool's definition; `generate`: lets a model write it

mod exchange;
mod generate;
mod lookup;
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

pub(crate) use self::lookup::{FoundTemplate, KnownTemplates};
pub(super) use self::make::is_read_only;
pub(crate) use self::text::{TemplateListRow, to_row};
use super::Invocation;
use super::completions::templates;
use super::failure::Advise as _;
use super::output::format_table;
use crate::cli::open_store::open_store;
use crate::trail;

/// List the templates that carry out intents; approve learned ones.
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
are built in, some are files in the folder `templates` next to the database, and
some are learned from programs that worked.";

const MAKE_EXAMPLES: &str = "\
Examples:
  kitbag templates make time__convert_time
  kitbag templates make time__convert_time --output convert.toml
  kitbag templates make git__git_log repo_path=/src/shop --output log.toml \\
    --model 'http://localhost:11434/v1#qwen3:8b'

A model gets the definition of the tool. Its template is checked, and run once
if the tool only reads: with the model's own values, or those given as
KEY=VALUE. If that fails, the model gets the error and tries again. Nothing is
written unless the template works.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// List all templates and candidates with their state.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag templates list\n  kitbag templates list --tenant acme --json"
    )]
    List {
        /// Only learned templates of this tenant.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
    /// Show a template with its intents, parameters and program.
    #[command(after_help = "Examples:\n  kitbag templates show list_errors")]
    Show(NamedTemplate),
    /// Let a learned or imported template answer requests.
    #[command(after_help = "Examples:\n  kitbag templates approve learned_list_issues_3f9c1a")]
    Approve(NamedTemplate),
    /// Remove a learned template and never learn it again.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag templates remove learned_list_issues_3f9c1a"
    )]
    Remove(NamedTemplate),
    /// Export a template as a file for `import` or the templates folder.
    #[command(after_help = "Examples:\n  kitbag templates export list_errors\n  \
                      kitbag templates export list_errors --output list_errors.toml")]
    Export {
        #[command(flatten)]
        named: NamedTemplate,
        /// Output file; must not exist yet [default: stdout].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make a template from a tool as a starting point, or let a model write one.
    #[command(after_help = MAKE_EXAMPLES)]
    Make(Box<make::Arguments>),
    /// Import a template from a file; it is inactive until approved.
    #[command(
        after_help = "Examples:\n  kitbag templates import list_errors.toml\n  \
                      kitbag templates import list_errors.toml --tenant acme"
    )]
    Import {
        file: PathBuf,
        /// Tenant of the template [default: local].
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NamedTemplate {
    /// Name, as in `kitbag templates list`.
    #[arg(add = ArgValueCandidates::new(templates))]
    pub(crate) name: String,
    /// Tenant, if several have a learned template of that name.
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<Tenant>,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    if let Verb::Make(arguments) = arguments.verb {
        make::make_template(&arguments, invocation).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = open_store(&config, "cannot open the learned templates").await?;
    let lookup = KnownTemplates::load(&config, &store).await?;
    match arguments.verb {
        Verb::List { tenant } => list(&lookup, tenant.as_ref(), invocation)?,
        Verb::Show(named) => show(lookup.find(&named)?, invocation)?,
        Verb::Approve(named) => decide(&APPROVAL, &lookup, &named, &store, invocation).await?,
        Verb::Remove(named) => decide(&REMOVAL, &lookup, &named, &store, invocation).await?,
        Verb::Export { named, output } => {
            let found = lookup.find(&named)?;
            exchange::export(found.template(), output.as_deref(), invocation)?;
        }
        // Handled above; needs no store.
        Verb::Make(_) => {}
        Verb::Import { file, tenant } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            exchange::import(&file, &tenant, &lookup, &store, invocation).await?;
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn list(
    lookup: &KnownTemplates,
    tenant: Option<&Tenant>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    for complaint in &lookup.complaints {
        invocation.output.warn(complaint);
    }
    let rows: Vec<_> = lookup
        .all()
        .filter(|found| tenant.is_none() || found.tenant().is_none_or(|it| Some(it) == tenant))
        .map(|found| to_row(&found))
        .collect();
    let headings = ["NAME", "ORIGIN", "TENANT", "STATE", "RUNS", "INTENT"];
    invocation.show(&rows, |rows| {
        format_table(headings, rows.iter().map(text::cells))
    })
}

fn show(found: FoundTemplate<'_>, invocation: &Invocation) -> anyhow::Result<()> {
    let whole = text::to_json(&found);
    invocation.show(&whole, |_| text::format_page(&found))
}

/// The operator's decision about a learned template.
pub(crate) struct TemplateVerdict {
    apply: fn(LearnedTemplate) -> LearnedTemplate,
    pub(crate) action: Action,
    command: &'static str,
    state: &'static str,
    pub(crate) message: &'static str,
}

pub(crate) const APPROVAL: TemplateVerdict = TemplateVerdict {
    apply: |learned| learned.approve(now()).0,
    action: Action::TemplateApproved,
    command: "kitbag templates approve",
    state: "approved",
    message: "Approved",
};

pub(crate) const REMOVAL: TemplateVerdict = TemplateVerdict {
    apply: |learned| learned.reject(now()).0,
    action: Action::TemplateRemoved,
    command: "kitbag templates remove",
    state: "removed",
    message: "Removed (will not be learned again):",
};

async fn decide(
    verdict: &TemplateVerdict,
    lookup: &KnownTemplates,
    named: &NamedTemplate,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let event = |name: &str| trail::change_event(verdict.command, verdict.action, name);
    let row = decide_template(verdict, lookup, named, store, event).await?;
    let name = row.learned.template().name();
    let report = json!({ "name": name, "tenant": row.tenant, "state": verdict.state });
    invocation.show(&report, |_| format!("{} {name}", verdict.message))
}

/// Changes the state of a learned template, and audits that with the event for its name.
pub(crate) async fn decide_template<'a>(
    verdict: &TemplateVerdict,
    lookup: &'a KnownTemplates,
    named: &NamedTemplate,
    store: &Store,
    event: impl FnOnce(&str) -> Event,
) -> anyhow::Result<&'a LearnedRow> {
    let row = require_learned(lookup.find(named)?)?;
    let (tenant, id) = (&row.tenant, row.learned.id());
    let changed = learned_templates::change_template(store, tenant, id, now(), |it| {
        Some((verdict.apply)(it?))
    })
    .await?;
    if changed.is_none() {
        return Err(anyhow!("`{}` has been deleted in the meantime", named.name))
            .advise(|| "list the templates with `kitbag templates list`".to_owned());
    }
    let event = event(row.learned.template().name().as_str());
    let tenant = Some(tenant.clone());
    trail::record_event(store, Event { tenant, ..event }).await?;
    Ok(row)
}

/// Returns the learned template; only those are in the store.
fn require_learned(found: FoundTemplate<'_>) -> anyhow::Result<&LearnedRow> {
    match found {
        FoundTemplate::Learned(row) => Ok(row),
        FoundTemplate::File { entry, folder } => {
            let (name, origin) = (entry.template.name(), entry.origin);
            Err(anyhow!("`{name}` is not learned; its origin is {origin}")).advise(|| {
                format!(
                    "change its file, or put a file of that name into {}",
                    folder.display()
                )
            })
        }
    }
}
