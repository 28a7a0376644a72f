//! `kitbag servers list`: what is configured, and what each server offered when last asked.

use std::collections::BTreeMap;

use clap::Args;
use kitbag_domain::ServerName;
use kitbag_store::Store;
use kitbag_upstream::{Endpoint, Launch, ServerSpec, Transport};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::cli::Invocation;
use crate::cli::next_steps::first_steps;
use crate::cli::output::{offers, table};
use crate::config::Config;

/// Show the configured servers and what they offer.
///
/// What they offer is what they said when they were last asked; nothing is started.
#[derive(Debug, Args)]
#[command(
    visible_alias = "ls",
    after_help = "Examples:\n  kitbag servers list\n  kitbag servers list --json"
)]
pub(super) struct Arguments {}

#[derive(Debug, Serialize)]
struct Row {
    name: ServerName,
    enabled: bool,
    transport: &'static str,
    target: String,
    #[serde(flatten)]
    offer: Option<Offer>,
}

/// How much there is of everything in a remembered listing.
#[derive(Debug, Clone, Default, Serialize)]
struct Offer {
    tools: usize,
    prompts: usize,
    resources: usize,
}

pub(super) async fn run(_arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let offers = remembered(&config, invocation).await;
    let enabled = config.servers.values().map(|spec| row(spec, true, &offers));
    let disabled = config.disabled.values().map(|spec| row(spec, false, &offers));
    let mut rows: Vec<Row> = enabled.chain(disabled).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if rows.is_empty() {
        invocation.output.note(&first_steps(invocation));
    }
    if rows.is_empty() && !invocation.output.json {
        return Ok(());
    }
    invocation
        .output
        .show(&rows, |rows| table(["NAME", "TRANSPORT", "TARGET", "OFFERS"], rows.iter().map(cells)))
}

fn row(spec: &ServerSpec, enabled: bool, offers: &BTreeMap<String, Offer>) -> Row {
    let (transport, target) = match &spec.transport {
        Transport::Stdio(launch) => ("stdio", program(launch)),
        Transport::Http(endpoint) => ("http", address(endpoint)),
        Transport::Sse(endpoint) => ("sse", address(endpoint)),
    };
    let offer = offers.get(&spec.fingerprint()).cloned();
    Row { name: spec.name.clone(), enabled, transport, target, offer }
}

fn program(launch: &Launch) -> String {
    match launch.package() {
        Some(package) => format!("{} {package}", launch.command),
        None => launch.command.clone(),
    }
}

/// Without what people hide in URLs: passwords, and keys in the query.
fn address(endpoint: &Endpoint) -> String {
    let url = &endpoint.url;
    let hidden = if url.query().is_some() { "?…" } else { "" };
    format!("{}{}{hidden}", url.origin().ascii_serialization(), url.path())
}

fn cells(row: &Row) -> [String; 4] {
    let offer = match &row.offer {
        _ if !row.enabled => "disabled".to_owned(),
        Some(offer) => offers(offer.tools, offer.prompts, offer.resources),
        None => "not asked yet".to_owned(),
    };
    [row.name.to_string(), row.transport.to_owned(), row.target.clone(), offer]
}

/// By the fingerprint of the configuration under which the server was asked. A store that
/// cannot be read is no reason to hide what is configured.
async fn remembered(config: &Config, invocation: &Invocation) -> BTreeMap<String, Offer> {
    if !config.store_path.exists() {
        return BTreeMap::new();
    }
    match read_offers(config).await {
        Ok(offers) => offers,
        Err(error) => {
            invocation.output.note(&format!("what the servers offer is unknown: {error}"));
            BTreeMap::new()
        }
    }
}

async fn read_offers(config: &Config) -> Result<BTreeMap<String, Offer>, kitbag_store::Error> {
    #[derive(Deserialize)]
    struct Body {
        tools: Vec<IgnoredAny>,
        prompts: Vec<IgnoredAny>,
        resources: Vec<IgnoredAny>,
        templates: Vec<IgnoredAny>,
    }
    let listings = Store::open(&config.store_path).await?.listings().await?;
    let offer = |body: Body| Offer {
        tools: body.tools.len(),
        prompts: body.prompts.len(),
        resources: body.resources.len() + body.templates.len(),
    };
    let offers = listings.into_iter().filter_map(|listing| {
        let body = serde_json::from_str(&listing.body).ok()?;
        Some((listing.fingerprint, offer(body)))
    });
    Ok(offers.collect())
}
