//! `kitbag servers list`: the configured servers and their last listing.

use std::collections::BTreeMap;

use clap::Args;
use kitbag_config::Config;
use kitbag_domain::{Reach, RemoteEndpoint, ServerName, Template};
use kitbag_store::Store;
use kitbag_upstream::{ServerKind, ServerSpec};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use url::Url;

use super::state::{Login, ServerState, server_states};
use crate::cli::Invocation;
use crate::cli::next_steps::{first_steps, has_no_servers};
use crate::cli::output::{describe_offers, format_table};
use kitbag_gateway::state::store_address::{store_address, store_may_exist};
use kitbag_launch_review::line_of;

/// List the configured servers and what they offer.
///
/// The counts are from each server's last listing; no server is started.
#[derive(Debug, Args)]
#[command(
    visible_alias = "ls",
    after_help = "Examples:\n  kitbag servers list\n  kitbag servers list --json"
)]
pub(super) struct Arguments {}

#[derive(Debug, Serialize)]
struct ServerRow {
    name: ServerName,
    enabled: bool,
    transport: &'static str,
    target: String,
    #[serde(flatten)]
    state: ServerState,
    #[serde(flatten)]
    offer: Option<OfferCounts>,
}

/// Stored data about servers.
#[derive(Debug, Default)]
struct StoredServers {
    /// By the fingerprint of the configuration that was listed.
    offers: BTreeMap<String, OfferCounts>,
    server_states: BTreeMap<ServerName, ServerState>,
}

/// Number of tools, prompts and resources in a stored listing.
#[derive(Debug, Clone, Default, Serialize)]
struct OfferCounts {
    tools: usize,
    prompts: usize,
    resources: usize,
}

pub(super) async fn run(_arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    // Without a readable store, the configured servers are listed anyway.
    let stored = read_stored(&config).await.unwrap_or_else(|error| {
        invocation.note(&format!("cannot read the stored listings: {error:#}"));
        StoredServers::default()
    });
    let enabled = config
        .servers
        .values()
        .map(|spec| to_row(spec, true, &stored));
    let disabled = config
        .disabled
        .values()
        .map(|spec| to_row(spec, false, &stored));
    let mut rows: Vec<ServerRow> = enabled.chain(disabled).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    // Configured servers come first.
    rows.extend(
        config
            .agents
            .iter()
            .map(|agents| to_row(&agents.spec, true, &stored)),
    );
    if has_no_servers(&config) {
        invocation.note(&first_steps(invocation));
    }
    if rows.is_empty() && !invocation.output.json {
        return Ok(());
    }
    invocation.show(&rows, |rows| {
        format_table(
            ["NAME", "TRANSPORT", "TARGET", "OFFERS"],
            rows.iter().map(cells),
        )
    })
}

fn to_row(spec: &ServerSpec, enabled: bool, stored: &StoredServers) -> ServerRow {
    let (transport, target) = match &spec.kind {
        ServerKind::External(Reach::Command(_)) => ("stdio", line_of(spec).unwrap_or_default()),
        ServerKind::External(Reach::Remote(endpoint)) => {
            (endpoint.transport.as_str(), display_url(endpoint))
        }
        ServerKind::BuiltIn { .. } => ("built-in", "capabilities of coding agents".to_owned()),
    };
    let offer = stored.offers.get(&spec.fingerprint()).cloned();
    let state = stored
        .server_states
        .get(&spec.name)
        .cloned()
        .unwrap_or_default();
    ServerRow {
        name: spec.name.clone(),
        enabled,
        transport,
        target,
        state,
        offer,
    }
}

/// Returns the URL without parts that may be secret: the password and the query.
fn display_url(endpoint: &RemoteEndpoint<Template>) -> String {
    let Ok(url) = Url::parse(endpoint.url.source()) else {
        return String::new();
    };
    let hidden = if url.query().is_some() { "?…" } else { "" };
    format!(
        "{}{}{hidden}",
        url.origin().ascii_serialization(),
        url.path()
    )
}

fn cells(row: &ServerRow) -> [String; 4] {
    let offer = match &row.offer {
        Some(offer) => describe_offers(offer.tools, offer.prompts, offer.resources),
        None => "not listed yet".to_owned(),
    };
    let ServerState { login, missing } = &row.state;
    let status = match (login, missing.first()) {
        _ if !row.enabled => "disabled".to_owned(),
        (_, Some(variable)) => format!("needs {variable}"),
        (Some(Login::Needed), None) => "login needed".to_owned(),
        (Some(Login::LoggedIn), None) => format!("{offer} (logged in)"),
        (None, None) => offer,
    };
    [
        row.name.to_string(),
        row.transport.to_owned(),
        row.target.clone(),
        status,
    ]
}

async fn read_stored(config: &Config) -> anyhow::Result<StoredServers> {
    if !store_may_exist(config) {
        return Ok(StoredServers {
            server_states: server_states(config, None).await?,
            ..StoredServers::default()
        });
    }
    let store = Store::open(store_address(config)?).await?;
    let offers = read_offers(&store).await?;
    // Without the key of the secrets, offers are still known.
    let server_states = server_states(config, Some(&store))
        .await
        .unwrap_or_default();
    store.close().await;
    Ok(StoredServers {
        offers,
        server_states,
    })
}

async fn read_offers(store: &Store) -> Result<BTreeMap<String, OfferCounts>, kitbag_store::Error> {
    #[derive(Deserialize)]
    struct Body {
        tools: Vec<IgnoredAny>,
        prompts: Vec<IgnoredAny>,
        resources: Vec<IgnoredAny>,
        templates: Vec<IgnoredAny>,
    }
    let listings = store.listings().await?;
    let offers = listings.into_iter().filter_map(|listing| {
        let body: Body = serde_json::from_str(&listing.body).ok()?;
        let offer = OfferCounts {
            tools: body.tools.len(),
            prompts: body.prompts.len(),
            resources: body.resources.len() + body.templates.len(),
        };
        Some((listing.fingerprint, offer))
    });
    Ok(offers.collect())
}
