//! `kitbag servers find`: searches the MCP registry.

use clap::Args;
use kitbag_config::{Config, parse_registry_url};
use kitbag_registry::{
    EntryName, EntryStatus, Registry, RegistryEntry, RegistryError, RunKind, offered_kinds,
};
use serde::Serialize;
use url::Url;

use crate::cli::Invocation;
use crate::cli::output::{format_table, to_one_line};

/// Search the MCP registry for servers.
///
/// The registry matches names only; results are ranked here, best first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Words to search for.
    #[arg(required = true)]
    text: Vec<String>,
    /// Maximum number of servers.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    place: RegistryChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag servers find weather
  kitbag servers find brave search --limit 5
  kitbag servers find github --json

A registry entry is written by the server's publisher; the registry verifies
only the owner in front of the name.";

/// Option for the registry to search.
#[derive(Debug, Args)]
pub(super) struct RegistryChoice {
    /// Use this registry instead of the configured one.
    #[arg(long, env = "KITBAG_REGISTRY_URL", hide_env_values = true, value_name = "URL", value_parser = parse_registry_url)]
    registry_url: Option<Url>,
}

#[derive(Debug, Serialize)]
pub(crate) struct EntryRow {
    pub(crate) name: EntryName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) kinds: Vec<RunKind>,
    pub(crate) deprecated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repository: Option<String>,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let registry = arguments.place.open(&invocation.config()?);
    let text = arguments.text.join(" ");
    let asking = search_registry(&registry, &text);
    let found = invocation
        .output
        .with_progress(&format!("Searching {}", registry.display_url()), asking)
        .await?;
    let all = found.len();
    let rows: Vec<EntryRow> = found.into_iter().take(arguments.limit).collect();
    if rows.is_empty() && !invocation.output.json {
        invocation.note(&describe_no_match(&text, &registry));
        return Ok(());
    }
    invocation.show(&rows, |rows| format_entries(rows, all))
}

/// Returns the entries for this text, best first.
pub(crate) async fn search_registry(
    registry: &Registry,
    text: &str,
) -> Result<Vec<EntryRow>, RegistryError> {
    let found = registry.find_servers(text).await?;
    Ok(found.into_iter().map(to_row).collect())
}

impl RegistryChoice {
    pub(super) fn open(&self, config: &Config) -> Registry {
        Registry::new(
            self.registry_url
                .as_ref()
                .unwrap_or(&config.registry)
                .clone(),
        )
    }
}

fn describe_no_match(text: &str, registry: &Registry) -> String {
    format!(
        "No server in {} has `{text}` in its name. Try another word, or add a server you know:\n  \
         kitbag servers add NAME -- COMMAND",
        registry.display_url()
    )
}

fn to_row(entry: RegistryEntry) -> EntryRow {
    let kinds = offered_kinds(&entry.server);
    let deprecated = entry.status == EntryStatus::Deprecated;
    let server = entry.server;
    EntryRow {
        name: server.name,
        title: server.title,
        version: server.version,
        description: server.description,
        kinds,
        deprecated,
        repository: server.repository.map(|it| it.url),
    }
}

fn format_entries(rows: &[EntryRow], all: usize) -> String {
    let mut text = format_table(["NAME", "HOW", "DESCRIPTION"], rows.iter().map(cells));
    if rows.len() < all {
        text.push_str(&format!(
            "\n{} of {all}; show all: --limit {all}",
            rows.len()
        ));
    }
    text.push_str("\nTo add one: kitbag servers add NAME");
    text
}

fn cells(row: &EntryRow) -> [String; 3] {
    let kinds: Vec<_> = row.kinds.iter().map(|kind| kind.name()).collect();
    let description = to_one_line(&row.description);
    let description = if row.deprecated {
        format!("(deprecated) {description}")
    } else {
        description
    };
    [row.name.to_string(), kinds.join(", "), description]
}
