//! `kitbag secret`: the secrets that the configuration refers to as `${secret:NAME}`.

mod key;

use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_domain::Action;
use kitbag_store::{Secret, SecretName, Store, Vault};
use serde_json::json;

use super::completions::secrets;
use super::failure::Advise as _;
use super::output::{date, table};
use super::{Invocation, ask};
use crate::cli::open_store::open_store;
use crate::trail;
use kitbag_gateway::secrets::vault::vault;
use kitbag_gateway::state::clock::now;

/// Keep secrets encrypted in the store, for servers and providers.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag secret set github_token
  pass show github | kitbag secret set github_token
  kitbag secret list
  kitbag secret remove github_token

In the configuration, ${secret:github_token} stands for the value. Secrets are
encrypted under the key in $KITBAG_SECRET_KEY, 64 hexadecimal digits, or else
under the one that `kitbag secret key` shows: in a file beside the database, or
in the system's keyring.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask for a value, or read it from stdin, and keep it under a name.
    #[command(
        after_help = "Examples:\n  kitbag secret set github_token\n  kitbag secret set github_token < token.txt"
    )]
    Set {
        #[arg(add = ArgValueCandidates::new(secrets))]
        name: SecretName,
    },
    /// Show all names; values are never shown.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag secret list\n  kitbag secret list --json"
    )]
    List,
    /// Forget a secret.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag secret remove github_token"
    )]
    Remove {
        #[arg(add = ArgValueCandidates::new(secrets))]
        name: SecretName,
    },
    Key(key::Arguments),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "the secrets cannot be reached").await?;
    let vault = vault(config.secret_key, &store)?;
    match arguments.verb {
        Verb::Set { name } => set(&vault, &name, &store, invocation).await?,
        Verb::List => list(&vault, invocation).await?,
        Verb::Remove { name } => remove(&vault, &name, &store, invocation).await?,
        Verb::Key(arguments) => key::run(&arguments, &config, &store, invocation).await?,
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

async fn set(
    vault: &Vault,
    name: &SecretName,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let typed = std::io::stdin().is_terminal();
    let value = if typed {
        ask::secret(&format!("Value of {name}: "))
    } else {
        read()
    };
    let value = match value {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => String::new(),
        other => other.context("the value cannot be read from stdin")?,
    };
    if value.is_empty() {
        return Err(anyhow!(if typed {
            "no value was typed"
        } else {
            "stdin held no value"
        }))
        .advise(|| format!("pipe it in: printf %s VALUE | kitbag secret set {name}"));
    }
    vault.put(name, &Secret::new(value), now()).await?;
    trail::record(
        store,
        trail::change("kitbag secret set", Action::SecretSet, name.as_str()),
    )
    .await?;
    let name = name.as_str();
    invocation
        .output
        .show(&json!({ "name": name, "set": true }), |_| {
            format!("Kept. In the configuration, write ${{secret:{name}}}")
        })
}

async fn list(vault: &Vault, invocation: &Invocation) -> anyhow::Result<()> {
    let secrets = vault.list().await?;
    if secrets.is_empty() && !invocation.output.json {
        invocation
            .output
            .note("No secrets yet. Keep one: kitbag secret set NAME < FILE");
        return Ok(());
    }
    let rows: Vec<_> = secrets
        .iter()
        .map(|it| json!({ "name": it.name.as_str(), "updated_at": date(it.updated_at) }))
        .collect();
    invocation.output.show(&rows, |_| {
        let cells = secrets
            .iter()
            .map(|it| [it.name.to_string(), date(it.updated_at)]);
        table(["NAME", "CHANGED"], cells)
    })
}

async fn remove(
    vault: &Vault,
    name: &SecretName,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    if !vault.remove(name).await? {
        return Err(anyhow!("there is no secret `{name}`"))
            .advise(|| "see which there are with `kitbag secret list`".to_owned());
    }
    trail::record(
        store,
        trail::change("kitbag secret remove", Action::SecretRemoved, name.as_str()),
    )
    .await?;
    let name = name.as_str();
    invocation
        .output
        .show(&json!({ "name": name, "removed": true }), |_| {
            format!("Removed the secret {name}")
        })
}

/// Reads the value without the line break that `echo` and editors put at the end.
fn read() -> std::io::Result<String> {
    let mut value = String::new();
    std::io::stdin().read_to_string(&mut value)?;
    let end = value.trim_end_matches(['\r', '\n']).len();
    value.truncate(end);
    Ok(value)
}
