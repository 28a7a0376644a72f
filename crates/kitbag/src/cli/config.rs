//! `kitbag config`: shows and checks the effective configuration.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use kitbag_config::show::{Entry, Origin, Sources, list_entries, text};
use kitbag_config::{Config, Project};
use kitbag_domain::{MissingVariable, ServerName, Template};
use serde_json::{Value, json};

use super::Invocation;
use super::failure::{Advise as _, suggest_name};
use super::output::{pluralize, strip_controls};
use super::overrides::{ServeOverrides, data_dir_origin, list_overrides};
use crate::cli::open_store::open_store;
use kitbag_gateway::state::store_address::store_may_exist;

/// Show or check the effective configuration.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag config show
  kitbag config show servers.git
  kitbag config check
  $EDITOR \"$(kitbag config path)\"";

#[derive(Debug, Subcommand)]
enum Verb {
    Show(ShowArguments),
    /// Print the path of the configuration file, even if it does not exist.
    #[command(after_help = "Examples:\n  kitbag config path\n  kitbag config path --json")]
    Path,
    /// Check the configuration; exit with 1 if it is invalid.
    #[command(
        after_help = "Examples:\n  kitbag config check\n  kitbag config check --config new.toml"
    )]
    Check,
}

/// Print the effective configuration and the source of each value.
///
/// The output is equivalent TOML. Secrets are masked; variables are shown with whether they are
/// set.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
struct ShowArguments {
    /// Show one section, such as `serve`, `servers` or `servers.git`.
    section: Option<String>,
    /// Include defaults.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    overrides: ServeOverrides,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  kitbag config show
  kitbag config show serve
  kitbag config show --all --json
  KITBAG_BIND=127.0.0.1:9000 kitbag config show serve";

pub(super) async fn run(
    arguments: Arguments,
    mut invocation: Invocation,
) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Show(arguments) => {
            arguments.overrides.apply(&mut invocation.source.overrides);
            show(&arguments, &invocation).await?;
        }
        Verb::Path => show_path(&invocation)?,
        Verb::Check => check_config(&invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(arguments: &ShowArguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let all = all_entries(&config, invocation).await?;
    let shown: Vec<_> = match &arguments.section {
        Some(section) => find_section(section, &all)?,
        None => all
            .iter()
            .filter(|entry| arguments.all || is_shown_by_default(entry))
            .cloned()
            .collect(),
    };
    let data = data_dir_origin(&invocation.source.overrides);
    let (output, whole) = (invocation.output, arguments.section.is_none());
    if output.json {
        let data = json!({ "key": "data_dir", "value": config.data_dir, "origin": origin_to_json(&data, &config) });
        let mut rows: Vec<_> = whole.then_some(data).into_iter().collect();
        rows.extend(shown.iter().map(|entry| entry_to_json(entry, &config)));
        return output.show(&rows, |_| String::new());
    }
    let head = match whole {
        true => format_heading(&config, &data),
        false => String::new(),
    };
    let text = text::to_toml(&shown, config.origin.as_deref());
    output.print(&strip_controls(&format!("{head}{text}")))?;
    if shown.len() < all.len() && whole {
        output.note("\nDefaults are not shown; to include them: kitbag config show --all");
    }
    Ok(())
}

async fn all_entries(config: &Config, invocation: &Invocation) -> anyhow::Result<Vec<Entry>> {
    let text = match &config.origin {
        Some(path) => {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => String::new(),
    };
    let secrets = secret_names(config, &text).await?;
    let overrides = list_overrides(&invocation.source.overrides);
    Ok(list_entries(&Sources {
        text: &text,
        config,
        overrides: &overrides,
        is_set: &|name: &str| is_set(name, &secrets),
    }))
}

/// Returns the rules of every tenant and of each, as in the effective configuration.
pub(crate) fn policy_entries(config: &Config) -> anyhow::Result<Vec<Entry>> {
    let text = match &config.origin {
        Some(path) => {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => String::new(),
    };
    let mut entries = list_entries(&Sources {
        text: &text,
        config,
        overrides: &[],
        is_set: &|_: &str| false,
    });
    entries.retain(|entry| matches!(entry.table[0].as_str(), "policy" | "tenants"));
    Ok(entries)
}

fn is_set(name: &str, secrets: &BTreeSet<String>) -> bool {
    match name.strip_prefix(Template::SECRET) {
        Some(secret) => secrets.contains(secret),
        None => env::var_os(name).is_some(),
    }
}

/// Does not open or create the store unless the text refers to a secret.
async fn secret_names(config: &Config, text: &str) -> anyhow::Result<BTreeSet<String>> {
    if !text.contains(&format!("${{{}", Template::SECRET)) || !store_may_exist(config) {
        return Ok(BTreeSet::new());
    }
    let store = open_store(config, "cannot open the secrets").await?;
    let secrets = store.vault(None).list_secrets().await?;
    store.close().await;
    Ok(secrets
        .iter()
        .map(|secret| secret.name.as_str().to_owned())
        .collect())
}

/// True if the value is set, or if it locates the store or the endpoint.
fn is_shown_by_default(entry: &Entry) -> bool {
    let is_where = matches!(entry.table[0].as_str(), "serve" | "store");
    !entry.is_default() || (is_where && entry.value.is_some())
}

fn find_section(section: &str, all: &[Entry]) -> anyhow::Result<Vec<Entry>> {
    let inside = format!("{section}.");
    let found: Vec<_> = all
        .iter()
        .filter(|entry| entry.key_path() == section || entry.key_path().starts_with(&inside))
        .cloned()
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    Err(anyhow!("the configuration has no `{section}`")).advise(|| suggest_section(section, all))
}

fn suggest_section(section: &str, all: &[Entry]) -> String {
    let known: BTreeSet<_> = all
        .iter()
        .flat_map(|entry| [entry.table[0].clone(), entry.table.join(".")])
        .collect();
    let otherwise = "list all sections with `kitbag config show --all`";
    suggest_name(section, known.iter().map(String::as_str), otherwise)
}

fn format_heading(config: &Config, data: &Origin) -> String {
    let file = config
        .origin
        .as_ref()
        .map_or("none (defaults)".to_owned(), |path| {
            path.display().to_string()
        });
    let project = match &config.project {
        Project::Active { path, servers, .. } => {
            let names: Vec<_> = servers.iter().map(ServerName::as_str).collect();
            format!("# Project: {} adds {}\n", path.display(), names.join(", "))
        }
        _ => String::new(),
    };
    let (dir, origin) = (config.data_dir.display(), data.describe(None));
    format!("# Configuration: {file}\n{project}# Data: {dir} ({origin})\n\n")
}

fn entry_to_json(entry: &Entry, config: &Config) -> Value {
    let mut row = json!({
        "key": entry.key_path(),
        "value": entry.value,
        "origin": origin_to_json(&entry.origin, config),
    });
    if !entry.variables.is_empty() {
        row["variables"] = json!(entry.variables);
    }
    row
}

fn origin_to_json(origin: &Origin, config: &Config) -> Value {
    let mut value = json!(origin);
    if let Origin::File { .. } = origin {
        value["path"] = json!(config.origin);
    }
    value
}

/// Prints only the path to stdout, for use as an editor argument.
fn show_path(invocation: &Invocation) -> anyhow::Result<()> {
    let path = invocation.source.editable_file()?;
    let exists = path.is_file();
    let result =
        json!({ "path": path, "exists": exists, "project": invocation.source.project_file() });
    invocation.show(&result, |_| path.display().to_string())?;
    if !exists {
        let missing = format!("{} does not exist yet; defaults apply.", path.display());
        invocation.note(&missing);
    }
    Ok(())
}

async fn check_config(invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let entries = all_entries(&config, invocation).await?;
    let mut unset = Vec::new();
    for entry in &entries {
        for variable in entry
            .variables
            .iter()
            .filter(|it| !it.set && !it.has_default)
        {
            let missing = MissingVariable {
                variable: variable.name.clone(),
            };
            invocation
                .output
                .warn(&format!("`{}`: {missing}", entry.key_path()));
            unset.push(json!({ "key": entry.key_path(), "variable": variable.name }));
        }
    }
    let result = json!({
        "path": config.origin,
        "servers": config.servers.len(),
        "providers": config.providers.len(),
        "unset": unset,
    });
    invocation.show(&result, |_| {
        let file = config
            .origin
            .as_ref()
            .map(|path| path.display().to_string());
        let file = file.unwrap_or("No configuration file; the default configuration".to_owned());
        let servers = pluralize(config.servers.len(), "server");
        format!(
            "{file} is valid: {servers}, {}",
            pluralize(config.providers.len(), "provider")
        )
    })
}
