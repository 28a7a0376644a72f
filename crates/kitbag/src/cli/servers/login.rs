//! `kitbag servers login` and `logout`: the user's account at a remote server.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::{Action, Reach, ServerName};
use kitbag_store::Store;
use kitbag_upstream::oauth::{Credentials, Flow, Grant, Person, Scopes};
use kitbag_upstream::{ServerKind, ServerSpec};
use serde_json::json;

use super::find;
use super::login_dialog::{LocalBrowser, RemoteBrowser};
use crate::cli::Invocation;
use crate::cli::completions::own_servers;
use crate::cli::failure::{Advise as _, with_own_remedy};
use crate::cli::open_store::open_store;
use crate::cli::output::strip_controls;
use crate::trail;
use kitbag_gateway::secrets::{login, vault};

/// Log in to a remote server that requires it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LoginArguments {
    #[arg(add = ArgValueCandidates::new(own_servers))]
    name: ServerName,
    /// Use a browser on another machine: enter a code there, or paste the final URL here.
    #[arg(long)]
    headless: bool,
    /// Scope to request instead of the server's default; repeatable.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
}

/// Delete the login to a server, and revoke it there if possible.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers logout tracker")]
pub(super) struct LogoutArguments {
    #[arg(add = ArgValueCandidates::new(own_servers))]
    name: ServerName,
}

const EXAMPLES: &str = "\
Examples:
  kitbag servers login tracker
  kitbag servers login tracker --headless
  kitbag servers login tracker --scope issues:read --scope issues:write

Tokens are stored encrypted and refreshed automatically. A running gateway uses
the new login at once.";

pub(super) async fn login(
    arguments: LoginArguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let name = &arguments.name;
    let spec = find(&config, name)?;
    let store = open_store(&config, "cannot open the store for logins").await?;
    let credentials = open_credentials(&config, &store, spec).await?;
    let scopes: Scopes = arguments.scopes.iter().collect();
    let output = invocation.output;
    let mut login_dialog: Box<dyn Person> = if arguments.headless {
        Box::new(RemoteBrowser::new(output))
    } else {
        Box::new(LocalBrowser::new(output))
    };
    let grant = credentials.login(login_dialog.as_mut(), &scopes).await;
    drop(login_dialog);
    let grant = grant
        .map_err(with_own_remedy)
        .with_context(|| format!("login to `{name}` failed"))?;
    let event = trail::change_event("kitbag servers login", Action::LoggedIn, name.as_str());
    trail::record_event(&store, event).await?;
    let row = json!({
        "name": name,
        "issuer": grant.issuer,
        "client_id": grant.client.id,
        "scopes": grant.scopes,
    });
    invocation.show(&row, |_| describe_login(name, &grant))?;
    store.close().await;
    Ok(())
}

pub(super) async fn logout(
    arguments: LogoutArguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let name = &arguments.name;
    let store = open_store(&config, "cannot open the store for logins").await?;
    let was = end_login(name, &config, &store).await?;
    if was {
        let event = trail::change_event("kitbag servers logout", Action::LoggedOut, name.as_str());
        trail::record_event(&store, event).await?;
    }
    store.close().await;
    let text = if was {
        format!("Logged out of {name}")
    } else {
        format!("Not logged in to {name}")
    };
    invocation.show(&json!({ "name": name, "logged_out": was }), |_| text)
}

/// Deletes the login to a server. Returns false if there was none.
pub(crate) async fn end_login(
    name: &ServerName,
    config: &Config,
    store: &Store,
) -> anyhow::Result<bool> {
    let spec = find(config, name)?;
    let credentials = open_credentials(config, store, spec).await?;
    credentials.logout().await.map_err(with_own_remedy)
}

async fn open_credentials(
    config: &Config,
    store: &Store,
    spec: &ServerSpec,
) -> anyhow::Result<Arc<Credentials>> {
    let name = &spec.name;
    match &spec.kind {
        ServerKind::BuiltIn { .. } => {
            return Err(anyhow!("`{name}` is built in and needs no login"));
        }
        ServerKind::External(Reach::Command(_)) => {
            return Err(anyhow!("`{name}` runs on this machine and has no login"))
                .advise(|| format!("pass its credentials in `env` of [servers.{name}]"));
        }
        ServerKind::External(Reach::Remote(_)) => {}
    }
    if spec.oauth.flow == Flow::ClientCredentials {
        return Err(anyhow!("`{name}` logs in with its `client_secret`"))
            .advise(|| format!("to check that it works: kitbag servers test {name}"));
    }
    let lookup = vault::open_lookup(config, store).await?;
    let credentials = Credentials::new(spec, &lookup, &login::stored_logins(config, store)?);
    credentials
        .ok_or_else(|| anyhow!("`{name}` is configured with an `Authorization` header"))
        .advise(|| format!("to log in instead, remove the header from [servers.{name}]"))
}

fn describe_login(name: &ServerName, grant: &Grant) -> String {
    let scopes = if grant.scopes.is_empty() {
        String::new()
    } else {
        format!("\nPermissions: {}", grant.scopes)
    };
    strip_controls(&format!(
        "Logged in to {name} through {}{scopes}\nTo test it: kitbag servers test {name}",
        grant.issuer
    ))
}
