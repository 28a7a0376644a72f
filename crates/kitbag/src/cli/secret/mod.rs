//! `kitbag secret`: secrets for `${secret:NAME}` in the configuration, and credentials with which tool files call
//! APIs, one set of fields for each tenant. Both are encrypted in the store.
//!
//! - `credential`: set, test, log in to and remove credentials
//! - `key`: where the encryption key is

mod credential;
mod key;

use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::{Action, Tenant};
use kitbag_store::{Secret, SecretInfo, SecretName, Store, Vault};
use kitbag_tool_spec::CredentialName;
use serde_json::{Value, json};

use super::completions::{credentials, secrets_and_credentials};
use super::failure::Advise as _;
use super::output::{format_date, format_table};
use super::{Invocation, ask, to_exit_code};
use crate::cli::open_store::open_store;
use crate::trail;
use credential::{
    CredentialHolderArguments, CredentialVault, GivenField, ListedCredential, LoginOptions,
};
use kitbag_gateway::secrets::vault::open_vault;
use kitbag_gateway::state::clock::now;

/// Store secrets and API credentials, encrypted.
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
  kitbag secret set aws region=eu-west-1 access_key_id secret_access_key
  kitbag secret list
  kitbag secret test aws
  kitbag secret login google-ads
  kitbag secret remove github_token

A secret has one value; the configuration refers to it as
${secret:github_token}. A credential has fields, which tool files use to call an
API; each tenant has its own. Both are encrypted with the key in
$KITBAG_SECRET_KEY (64 hexadecimal digits), or else with the key that
`kitbag secret key` shows, in a file next to the database.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Store a secret or, with FIELD, fields of a credential.
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// The name of the secret or credential.
        #[arg(add = ArgValueCandidates::new(secrets_and_credentials))]
        name: SecretName,
        /// A field of a credential, or FIELD=VALUE if the value is not secret.
        #[arg(value_name = "FIELD[=VALUE]")]
        fields: Vec<GivenField>,
        #[command(flatten)]
        holder: CredentialHolderArguments,
    },
    /// List secrets and credentials; values are never shown.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag secret list\n  kitbag secret list --json"
    )]
    List,
    /// Test a credential with a harmless API call.
    #[command(
        after_help = "Examples:\n  kitbag secret test hubspot\n  kitbag secret test hubspot --tenant acme"
    )]
    Test {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The tenant to test as; `local` by default.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
    },
    /// Log in to an API with a browser, and store the refresh token.
    #[command(
        after_help = "Examples:\n  kitbag secret login google-ads\n  kitbag secret login google-ads --headless --tenant acme\n\nSet client_id and client_secret first: those of the OAuth client that you\nregistered with the API, with http://127.0.0.1 as its redirect URI."
    )]
    Login {
        #[arg(add = ArgValueCandidates::new(credentials))]
        name: CredentialName,
        /// The tenant to log in for; `local` by default.
        #[arg(long, value_name = "NAME")]
        tenant: Option<Tenant>,
        #[command(flatten)]
        options: LoginOptions,
    },
    /// Remove a secret, a credential, or fields of a credential.
    #[command(visible_alias = "rm", after_help = REMOVE_EXAMPLES)]
    Remove {
        /// The name of the secret or credential.
        #[arg(add = ArgValueCandidates::new(secrets_and_credentials))]
        name: SecretName,
        /// A field of a credential.
        #[arg(value_name = "FIELD")]
        fields: Vec<String>,
        #[command(flatten)]
        holder: CredentialHolderArguments,
    },
    Key(key::Arguments),
}

const SET_EXAMPLES: &str = "\
Examples:
  kitbag secret set github_token
  kitbag secret set github_token < token.txt
  kitbag secret set hubspot token
  kitbag secret set aws region=eu-west-1 access_key_id secret_access_key
  kitbag secret set hubspot token --tenant acme < token.txt

Kitbag asks for each value, or reads it from stdin, one line for each field. The
other fields of the credential stay. A credential set with --all-tenants serves
every tenant that has none of its own.";

const REMOVE_EXAMPLES: &str = "\
Examples:
  kitbag secret remove github_token
  kitbag secret remove hubspot --tenant acme
  kitbag secret remove aws session_token

If a secret and a credential have the same name, the secret is removed unless
FIELD, --tenant or --all-tenants says that the credential is meant.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let store = open_store(&config, "cannot open the stored secrets").await?;
    let vault = open_vault(config.secret_key, &store)?;
    let is_ok = run_verb(arguments.verb, &vault, &store, &config, invocation).await?;
    store.close().await;
    Ok(to_exit_code(is_ok))
}

async fn run_verb(
    verb: Verb,
    vault: &Vault,
    store: &Store,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<bool> {
    let credentials = CredentialVault {
        vault,
        store,
        config,
    };
    match verb {
        Verb::Set {
            name,
            fields,
            holder,
        } if fields.is_empty() && !holder.is_given() => {
            set_secret(vault, &name, store, invocation).await?;
        }
        Verb::Set {
            name,
            fields,
            holder,
        } => {
            if fields.is_empty() {
                return Err(anyhow!("a credential needs at least one field"))
                    .advise(|| format!("name a field: kitbag secret set {name} FIELD"));
            }
            let key = holder.into_key(credential_name(&name)?);
            credentials.set(key, fields, invocation).await?;
        }
        Verb::List => list(&credentials, invocation).await?,
        Verb::Test { name, tenant } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            return credentials.test(&name, &tenant, invocation).await;
        }
        Verb::Login {
            name,
            tenant,
            options,
        } => {
            let tenant = tenant.unwrap_or_else(Tenant::local);
            credentials
                .login(name, tenant, &options, invocation)
                .await?;
        }
        Verb::Remove {
            name,
            fields,
            holder,
        } => {
            let has_secret = vault.list_secrets().await?.iter().any(|it| it.name == name);
            if fields.is_empty() && !holder.is_given() && has_secret {
                remove_secret(vault, &name, store, invocation).await?;
            } else {
                let key = holder.into_key(credential_name(&name)?);
                credentials.remove(key, fields, invocation).await?;
            }
        }
        Verb::Key(arguments) => key::run(&arguments, config, store, invocation).await?,
    }
    Ok(true)
}

/// Parses the name of a credential, whose characters are more restricted than those of a secret's name.
fn credential_name(name: &SecretName) -> anyhow::Result<CredentialName> {
    let parsed = name.as_str().parse();
    parsed.with_context(|| format!("no credential `{name}`"))
}

async fn set_secret(
    vault: &Vault,
    name: &SecretName,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let is_terminal = std::io::stdin().is_terminal();
    let value = if is_terminal {
        ask::read_secret(&format!("Value of {name}: "))
    } else {
        read_value()
    };
    let value = match value {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => String::new(),
        other => other.context("cannot read the value from stdin")?,
    };
    if value.is_empty() {
        return Err(anyhow!(if is_terminal {
            "no value was typed"
        } else {
            "stdin is empty"
        }))
        .advise(|| format!("pipe it in: printf %s VALUE | kitbag secret set {name}"));
    }
    vault.put_secret(name, &Secret::new(value), now()).await?;
    let event = trail::change_event("kitbag secret set", Action::SecretSet, name.as_str());
    trail::record_event(store, event).await?;
    let name = name.as_str();
    invocation.show(&json!({ "name": name, "set": true }), |_| {
        format!("Stored. Use it in the configuration as ${{secret:{name}}}")
    })
}

async fn list(credentials: &CredentialVault<'_>, invocation: &Invocation) -> anyhow::Result<()> {
    let secrets = credentials.vault.list_secrets().await?;
    let listed = credentials.list().await?;
    if secrets.is_empty() && listed.is_empty() && !invocation.output.json {
        invocation.note("No secrets yet. Store one: kitbag secret set NAME");
        return Ok(());
    }
    let rows: Vec<Value> = secrets
        .iter()
        .map(secret_to_json)
        .chain(listed.iter().map(ListedCredential::to_json))
        .collect();
    invocation.show(&rows, |_| {
        if listed.is_empty() {
            let cells = secrets
                .iter()
                .map(|it| [it.name.to_string(), format_date(it.updated_at)]);
            return format_table(["NAME", "CHANGED"], cells);
        }
        let cells = secrets.iter().map(|it| {
            let (name, changed) = (it.name.to_string(), format_date(it.updated_at));
            [name, String::new(), String::new(), changed, String::new()]
        });
        let cells = cells.chain(listed.iter().map(ListedCredential::to_cells));
        format_table(["NAME", "TENANT", "FIELDS", "CHANGED", "TOOLS"], cells)
    })
}

fn secret_to_json(secret: &SecretInfo) -> Value {
    json!({ "kind": "secret", "name": secret.name.as_str(), "updated_at": format_date(secret.updated_at) })
}

async fn remove_secret(
    vault: &Vault,
    name: &SecretName,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    vault.remove_secret(name).await?;
    let verb = "kitbag secret remove";
    let event = trail::change_event(verb, Action::SecretRemoved, name.as_str());
    trail::record_event(store, event).await?;
    let name = name.as_str();
    invocation.show(&json!({ "name": name, "removed": true }), |_| {
        format!("Removed the secret {name}")
    })
}

/// Reads a value from stdin without the line break that `echo` and editors append.
fn read_value() -> std::io::Result<String> {
    let mut value = String::new();
    std::io::stdin().read_to_string(&mut value)?;
    let end = value.trim_end_matches(['\r', '\n']).len();
    value.truncate(end);
    Ok(value)
}
