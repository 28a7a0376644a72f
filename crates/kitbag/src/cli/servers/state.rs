//! A server's state without starting it: its login and missing variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_config::Config;
use kitbag_domain::{Lookup, ServerName};
use kitbag_store::Store;
use kitbag_upstream::ServerSpec;
use kitbag_upstream::oauth::{Credentials, Flow, Logins, Settings};
use serde::Serialize;

use kitbag_gateway::secrets::{login, vault};

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ServerState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<Login>,
    /// Unset variables that the server needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Login {
    LoggedIn,
    Needed,
}

/// Returns the state of every configured server. Without a store, there are no secrets and no
/// logins.
pub(crate) async fn server_states(
    config: &Config,
    store: Option<&Store>,
) -> anyhow::Result<BTreeMap<ServerName, ServerState>> {
    let (lookup, logins): (Lookup, _) = match store {
        Some(store) => (
            vault::open_lookup(config, store).await?,
            Some(login::stored_logins(config, store)?),
        ),
        None => (
            Arc::new(|variable: &str| std::env::var(variable).ok()),
            None,
        ),
    };
    let mut server_states = BTreeMap::new();
    for spec in config.servers.values().chain(config.disabled.values()) {
        let missing = spec
            .missing_variables(&lookup)
            .into_iter()
            .map(|it| it.variable)
            .collect();
        let login = login_state(spec, &lookup, logins.as_ref()).await;
        server_states.insert(spec.name.clone(), ServerState { login, missing });
    }
    Ok(server_states)
}

/// Returns `None` if only the server knows whether it needs a login.
async fn login_state(spec: &ServerSpec, lookup: &Lookup, logins: Option<&Logins>) -> Option<Login> {
    if spec.endpoint().is_none() || spec.oauth.flow == Flow::ClientCredentials {
        return None;
    }
    let credentials = logins.and_then(|logins| Credentials::new(spec, lookup, logins));
    let grant = match credentials {
        Some(credentials) => credentials.reload_grant().await.ok()?,
        None => None,
    };
    match grant {
        Some(grant) if grant.needs_user() => Some(Login::Needed),
        Some(_) => Some(Login::LoggedIn),
        None => (spec.oauth != Settings::default()).then_some(Login::Needed),
    }
}
