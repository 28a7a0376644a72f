//! `kitbag credentials`: the credentials with which declared tools call APIs, for each tenant.

mod field;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_declared::CredentialName;
use kitbag_domain::{Action, Tenant};
use kitbag_store::{
    CredentialChange, CredentialHolder, CredentialInfo, CredentialKey, Store, Vault,
};
use serde_json::{Value, json};

use super::Invocation;
use super::completions::credentials;
use super::failure::Advise as _;
use super::output::{date, table};
use crate::trail;
use field::GivenField;
use kitbag_gateway::clock::now;
use kitbag_gateway::store_place::store_address;
use kitbag_gateway::vault::vault;

/// Keep the credentials of declared tools encrypted in the store.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag credentials set hubspot token
  kitbag credentials set aws region=eu-west-1 access_key_id secret_access_key
  kitbag credentials set hubspot token --tenant acme < token.txt
  kitbag credentials list
  kitbag credentials remove hubspot --tenant acme

A tool file names the credential that its tool needs. Each tenant has its own;
one that is set with --all-tenants serves those that have none. Values are
encrypted like secrets: see `kitbag secret --help`.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Set fields of a credential; its other fields stay.
    #[command(
        after_help = "Examples:\n  kitbag credentials set hubspot token\n  kitbag credentials set aws region=eu-west-1 access_key_id secret_access_key\n\nThe value of a field without `=` is asked for, or read from stdin, a line for\neach."
    )]
    Set {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The name of a field, or FIELD=VALUE for a value that is no secret.
        #[arg(required = true, value_name = "FIELD[=VALUE]")]
        fields: Vec<GivenField>,
        #[command(flatten)]
        holder: HolderArguments,
    },
    /// Show all credentials with the names of their fields; values are never shown.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag credentials list\n  kitbag credentials list --json"
    )]
    List,
    /// Forget a credential, or some of its fields.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag credentials remove hubspot\n  kitbag credentials remove aws session_token --tenant acme"
    )]
    Remove {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        #[arg(value_name = "FIELD")]
        fields: Vec<String>,
        #[command(flatten)]
        holder: HolderArguments,
    },
}

#[derive(Debug, Args)]
struct HolderArguments {
    /// The tenant that the credential belongs to, `local` unless given.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// The credential serves all tenants that have none of their own.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
}

impl HolderArguments {
    fn key(self, name: CredentialName) -> CredentialKey {
        let holder = match self.all_tenants {
            true => CredentialHolder::AllTenants,
            false => CredentialHolder::Tenant(self.tenant.unwrap_or_else(Tenant::local)),
        };
        CredentialKey { holder, name }
    }
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = Store::open(store_address(&config)?)
        .await
        .context("the credentials cannot be reached")?;
    let opened = OpenedStore {
        vault: vault(config.secret_key, &store)?,
        store,
    };
    match arguments.verb {
        Verb::Set {
            name,
            fields,
            holder,
        } => opened.set(holder.key(name), fields, invocation).await?,
        Verb::List => opened.list(invocation).await?,
        Verb::Remove {
            name,
            fields,
            holder,
        } => opened.remove(holder.key(name), fields, invocation).await?,
    }
    opened.store.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The store, with the key to what is encrypted in it.
struct OpenedStore {
    store: Store,
    vault: Vault,
}

impl OpenedStore {
    async fn set(
        &self,
        key: CredentialKey,
        given: Vec<GivenField>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let change = CredentialChange::set(field::values(given, &key.name)?);
        let fields = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag credentials set", Action::CredentialSet, &key)
            .await?;
        let names = fields.names();
        invocation.output.show(&described(&key, &names), |_| {
            format!("Kept {key}, which has {}", names.join(", "))
        })
    }

    async fn list(&self, invocation: &Invocation) -> anyhow::Result<()> {
        let credentials = self.vault.credentials().await?;
        if credentials.is_empty() && !invocation.output.json {
            invocation
                .output
                .note("No credentials yet. Keep one: kitbag credentials set NAME FIELD");
            return Ok(());
        }
        let rows: Vec<Value> = credentials.iter().map(listed).collect();
        invocation.output.show(&rows, |_| {
            let cells = credentials.iter().map(|it| {
                let CredentialKey { holder, name } = &it.key;
                [
                    name.to_string(),
                    holder.to_string(),
                    it.fields.join(", "),
                    date(it.updated_at),
                ]
            });
            table(["NAME", "TENANT", "FIELDS", "CHANGED"], cells)
        })
    }

    async fn remove(
        &self,
        key: CredentialKey,
        fields: Vec<String>,
        invocation: &Invocation,
    ) -> anyhow::Result<()> {
        let known = self.vault.credentials().await?;
        let known = known.into_iter().find(|it| it.key == key);
        let known = known
            .with_context(|| format!("there is no credential {key}"))
            .advise(|| "see which there are with `kitbag credentials list`".to_owned())?;
        let fields = if fields.is_empty() {
            known.fields
        } else {
            fields
        };
        let change = CredentialChange::remove(fields);
        let left = self.vault.change_credential(&key, change, now()).await?;
        self.record("kitbag credentials remove", Action::CredentialRemoved, &key)
            .await?;
        let names = left.names();
        invocation
            .output
            .show(&described(&key, &names), |_| match names.as_slice() {
                [] => format!("Removed {key}"),
                left => format!("{key} still has {}", left.join(", ")),
            })
    }

    async fn record(&self, verb: &str, action: Action, key: &CredentialKey) -> anyhow::Result<()> {
        let change = trail::change(verb, action, &key.to_string());
        trail::record(&self.store, change).await
    }
}

fn described(key: &CredentialKey, fields: &[String]) -> Value {
    json!({ "name": key.name.as_str(), "tenant": key.holder.to_string(), "fields": fields })
}

fn listed(info: &CredentialInfo) -> Value {
    let mut row = described(&info.key, &info.fields);
    row["updated_at"] = date(info.updated_at).into();
    row
}
