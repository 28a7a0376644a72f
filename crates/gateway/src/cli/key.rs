//! `kitbag key`: who may use the endpoint from elsewhere.

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use kitbag_domain::{KeyId, Tenant};
use kitbag_store::{KeyInfo, Store};
use serde::Serialize;
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::output::{date, table};
use crate::rooms::now;

/// Create, list and revoke the API keys that open the endpoint.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag key create --tenant acme --label 'build machine'
  kitbag key list
  kitbag key revoke 3f9c1a20

A client sends its key as `Authorization: Bearer KEY`. The key decides the tenant, and
the tenant's rules in the configuration decide what the client may use.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key and show it, this once.
    #[command(
        after_help = "Examples:\n  kitbag key create\n  kitbag key create --tenant acme --label 'build machine'"
    )]
    Create {
        /// For whom; rules for a tenant stand under [tenants.NAME].
        #[arg(long, default_value_t = Tenant::local())]
        tenant: Tenant,
        /// A few words to recognise the key by.
        #[arg(long)]
        label: Option<String>,
    },
    /// Show all keys, without the secret that nobody knows any more.
    #[command(visible_alias = "ls", after_help = "Examples:\n  kitbag key list\n  kitbag key list --json")]
    List,
    /// Make a key useless, for good.
    #[command(after_help = "Examples:\n  kitbag key revoke 3f9c1a20")]
    Revoke {
        /// As `kitbag key list` shows it.
        id: String,
    },
}

#[derive(Debug, Serialize)]
struct Row {
    id: KeyId,
    tenant: Tenant,
    label: Option<String>,
    created_at: String,
    revoked_at: Option<String>,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = Store::open(&config.store_path).await.context("the keys cannot be reached")?;
    match arguments.verb {
        Verb::Create { tenant, label } => create(&store, &tenant, label.as_deref(), invocation).await?,
        Verb::List => list(&store, invocation).await?,
        Verb::Revoke { id } => revoke(&store, KeyId(id), invocation).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn create(
    store: &Store,
    tenant: &Tenant,
    label: Option<&str>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let key = store.create_key(tenant, label, now()).await?;
    invocation.output.note(&format!(
        "Key {} for tenant `{tenant}`. Keep it now: it is not stored and cannot be shown again.",
        key.id
    ));
    let token = key.token.reveal();
    invocation
        .output
        .show(&json!({ "id": key.id, "tenant": tenant, "label": label, "key": token }), |_| token.to_owned())
}

async fn list(store: &Store, invocation: &Invocation) -> anyhow::Result<()> {
    let rows: Vec<Row> = store.keys().await?.into_iter().map(row).collect();
    if rows.is_empty() && !invocation.output.json {
        invocation.output.note("No keys yet. Create one: kitbag key create --tenant acme");
        return Ok(());
    }
    invocation
        .output
        .show(&rows, |rows| table(["ID", "TENANT", "LABEL", "CREATED", "STATE"], rows.iter().map(cells)))
}

async fn revoke(store: &Store, id: KeyId, invocation: &Invocation) -> anyhow::Result<()> {
    if !store.revoke_key(&id, now()).await? {
        return Err(anyhow!("there is no key `{id}` that could be revoked"))
            .advise(|| "see which there are with `kitbag key list`".to_owned());
    }
    invocation.output.show(&json!({ "id": id, "revoked": true }), |_| format!("Revoked key {id}"))
}

fn row(key: KeyInfo) -> Row {
    let KeyInfo { id, tenant, label, created_at, revoked_at } = key;
    Row { id, tenant, label, created_at: date(created_at), revoked_at: revoked_at.map(date) }
}

fn cells(row: &Row) -> [String; 5] {
    let day = |date: &str| date.split('T').next().unwrap_or_default().to_owned();
    let state =
        row.revoked_at.as_deref().map_or("active".to_owned(), |date| format!("revoked {}", day(date)));
    let label = row.label.clone().unwrap_or_default();
    [row.id.to_string(), row.tenant.to_string(), label, day(&row.created_at), state]
}
