//! `kitbag context`: manages the facts that agents can query.
//!
//! - `filter`: options that select facts

mod filter;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use kitbag_config::Config;
use kitbag_domain::{Action, Event, Tenant};
use kitbag_embedding::TextEmbedder;
use kitbag_gateway::index::context_embedding::embed_function;
use kitbag_gateway::secrets::vault;
use kitbag_platform::context::fact::stored_fact_to_json;
use kitbag_platform::context::import::{ContextImport, ImportedFacts, import_facts};
use kitbag_platform::context::tier::AuthorityTier;
use kitbag_store::{FactHolders, Store, StoredFact};
use serde_json::{Value, json};

use super::Invocation;
use super::failure::{Advise as _, with_own_remedy};
use super::output::{format_table, pluralize};
use crate::cli::open_store::open_store;
use crate::trail;
use filter::{FactSelection, HolderChoice};

/// Import, list and delete facts that agents can query.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag context import facts.jsonl
  kitbag context import crm.jsonl --tenant acme --replace CRM
  kitbag context list --subject Contoso
  kitbag context forget --source CRM --tenant acme

A fact has a source with a quote, a date and an authority tier. Agents query
facts with context_query and context_explain if [context] is enabled.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Import facts from a JSON Lines file: all of them or none.
    #[command(
        after_help = "Examples:\n  kitbag context import facts.jsonl --all-tenants\n  \
                      kitbag context import crm.jsonl --replace CRM\n\n\
                      Each line is an object: {\"subject\": \"Contoso\", \"predicate\": \"employees\",\n\
                      \"object\": \"900\", \"source\": {\"name\": \"CRM\", \"url\": \"https://…\", \"quote\":\n\
                      \"Headcount: 900\"}, \"authority\": 2, \"observed_at\": \"2026-10-01\"}, optionally\n\
                      with \"valid_until\". Facts that exist already are skipped."
    )]
    Import {
        file: PathBuf,
        #[command(flatten)]
        holder: HolderChoice,
        /// Delete the facts of this source first.
        #[arg(long, value_name = "SOURCE")]
        replace: Option<String>,
    },
    /// List facts, oldest first.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag context list\n  kitbag context list --subject Contoso --json"
    )]
    List {
        #[command(flatten)]
        wanted: FactSelection,
        /// Maximum number of facts.
        #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
        limit: u32,
    },
    /// Delete facts permanently.
    #[command(
        after_help = "Examples:\n  kitbag context forget --id 12\n  kitbag context forget --source CRM --tenant acme\n  \
                      kitbag context forget --all"
    )]
    Forget {
        #[command(flatten)]
        wanted: FactSelection,
        /// Delete all facts of all tenants.
        #[arg(long, conflicts_with = "selection")]
        all: bool,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the facts").await?;
    match arguments.verb {
        Verb::Import {
            file,
            holder,
            replace,
        } => {
            let given = GivenImport {
                file: &file,
                holder: holder.into_tenant(),
                replace: replace.as_deref(),
            };
            import_file(&store, &config, &given, invocation).await?;
        }
        Verb::List { wanted, limit } => list(&store, wanted, limit, invocation).await?,
        Verb::Forget { wanted, all } => forget(&store, wanted, all, invocation).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Arguments of `context import`.
struct GivenImport<'a> {
    file: &'a Path,
    holder: Option<Tenant>,
    replace: Option<&'a str>,
}

async fn import_file(
    store: &Store,
    config: &Config,
    given: &GivenImport<'_>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let text = fs::read_to_string(given.file)
        .with_context(|| format!("cannot read {}", given.file.display()))
        .advise(|| "pass a JSON Lines file of facts: kitbag context import --help".to_owned())?;
    let lookup = vault::open_lookup(config, store).await?;
    let embedder = Arc::new(TextEmbedder::new(&config.embedder, &lookup));
    let wanted = ContextImport {
        text: &text,
        holder: given.holder.clone(),
        replaced_source: given.replace,
    };
    let progress = invocation.output.progress("Importing facts");
    let imported = import_facts(store, &embed_function(embedder), &wanted).await;
    drop(progress);
    let imported = imported.map_err(with_own_remedy)?;
    let subject = given.file.display().to_string();
    let event = trail::change_event("kitbag context import", Action::FactsImported, &subject);
    let tenant = given.holder.clone();
    trail::record_event(store, Event { tenant, ..event }).await?;
    if !config.context.enabled {
        invocation.note("Agents cannot query facts yet: set `enabled = true` under [context].");
    }
    show_import(imported, invocation)
}

fn show_import(imported: ImportedFacts, invocation: &Invocation) -> anyhow::Result<()> {
    let ImportedFacts {
        added,
        replaced,
        known,
    } = imported;
    let report = json!({ "added": added, "known": known, "replaced": replaced });
    invocation.show(&report, |_| {
        let mut text = format!("Imported {}", pluralize(added as usize, "fact"));
        if known > 0 {
            text.push_str(&format!("; {known} already known"));
        }
        if replaced > 0 {
            text.push_str(&format!("; {replaced} replaced"));
        }
        text
    })
}

async fn list(
    store: &Store,
    wanted: FactSelection,
    limit: u32,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let mut filter = wanted.to_filter();
    filter.limit = Some(limit);
    let found = store.facts(&filter).await?;
    if found.is_empty() && !invocation.output.json {
        invocation.note("No matching facts. Import some: kitbag context import FILE");
        return Ok(());
    }
    let rows: Vec<Value> = found.iter().map(stored_fact_to_json).collect();
    let headings = [
        "ID",
        "TENANT",
        "SUBJECT",
        "PREDICATE",
        "OBJECT",
        "TIER",
        "SOURCE",
        "QUOTE",
    ];
    invocation.show(&rows, |_| format_table(headings, found.iter().map(cells)))
}

fn cells(stored: &StoredFact) -> [String; 8] {
    let fact = &stored.fact;
    let tenant = fact.tenant.as_ref().map_or("*", Tenant::as_str);
    let tier = AuthorityTier::from_number(fact.authority);
    [
        stored.id.to_string(),
        tenant.to_owned(),
        fact.subject.clone(),
        fact.predicate.clone(),
        fact.object.clone(),
        tier.as_str().to_owned(),
        fact.source.clone(),
        fact.quote.clone(),
    ]
}

async fn forget(
    store: &Store,
    wanted: FactSelection,
    all: bool,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let subject = wanted.describe(all)?;
    let filter = wanted.to_filter();
    let forgotten = store.delete_facts(&filter).await?;
    let event = trail::change_event("kitbag context forget", Action::FactsForgotten, &subject);
    let tenant = match filter.holders {
        FactHolders::Only(tenant) => tenant,
        _ => None,
    };
    trail::record_event(store, Event { tenant, ..event }).await?;
    let report = json!({ "forgotten": forgotten });
    invocation.show(&report, |_| {
        format!("Deleted {}", pluralize(forgotten as usize, "fact"))
    })
}
