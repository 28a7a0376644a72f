//! Resolves the variables of a configuration: from the environment, and from the store for
//! `${secret:NAME}`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use kitbag_config::{Config, Embedder, KeyLocation, StoreLocation};
use kitbag_domain::{Lookup, Template};
use kitbag_store::{ChangeCounts, KeyStore, SecretName, Store, Vault, VaultKey};
use kitbag_upstream::ServerSpec;
use tokio::sync::watch;

use crate::secrets::secrecy;
use crate::state::store_address::store_address;

/// How often to check whether any lookup still uses the secrets.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The variable with the key that encrypts the secrets in the store.
pub const KEY_VARIABLE: &str = "KITBAG_SECRET_KEY";

/// A snapshot of the secrets. Lookups happen in code that cannot wait for a database.
pub(crate) struct SecretSnapshot {
    vault: Vault,
    known: ArcSwap<BTreeMap<String, String>>,
}

/// Opens the secrets of a store, with the key from the environment if there is one, or else with
/// that from the configured location.
pub fn open_vault(location: KeyLocation, store: &Store) -> anyhow::Result<Vault> {
    Ok(match key_from_environment()? {
        Some(given) => store.vault(Some(given)),
        None => store.vault_with_key_store(key_store(location, store)),
    })
}

pub fn key_store(location: KeyLocation, store: &Store) -> Arc<dyn KeyStore> {
    match location {
        KeyLocation::File => Arc::new(store.key_file()),
        KeyLocation::Env => Arc::new(UnsetKeyVariable),
    }
}

/// Returns the key from the environment.
pub fn key_from_environment() -> anyhow::Result<Option<VaultKey>> {
    let given = environment_variable(KEY_VARIABLE).filter(|key| !key.trim().is_empty());
    let given = given.map(|key| key.parse()).transpose();
    given.with_context(|| format!("the variable {KEY_VARIABLE} is invalid"))
}

/// The environment as the configured location of a key that is not set.
#[derive(Debug, thiserror::Error)]
#[error("it is not set")]
struct UnsetKeyVariable;

impl KeyStore for UnsetKeyVariable {
    fn read(&self) -> Result<Option<VaultKey>, kitbag_store::Error> {
        Err(kitbag_store::Error::KeyStore {
            location: self.location(),
            source: Box::new(Self),
        })
    }

    fn write(&self, _key: &VaultKey) -> Result<(), kitbag_store::Error> {
        self.read().map(drop)
    }

    fn remove(&self) -> Result<(), kitbag_store::Error> {
        self.read().map(drop)
    }

    fn location(&self) -> String {
        format!("the variable {KEY_VARIABLE}")
    }
}

/// Returns a lookup in the environment, and opens the secrets if the configuration needs any.
pub async fn open_lookup(config: &Config, store: &Store) -> anyhow::Result<Lookup> {
    secrecy::mask_typed_secrets(config);
    if !needs_secrets(config) {
        return Ok(secrecy::mask_lookups(environment_variable));
    }
    let vault = open_vault(config.secret_key, store)?;
    // Subscribed before the first load, so that no change is missed.
    let changes = store.watch_changes();
    let secrets = Arc::new(SecretSnapshot {
        vault,
        known: ArcSwap::default(),
    });
    secrets
        .reload()
        .await
        .context("failed to open the secrets that the configuration needs")?;
    tokio::spawn(follow_changes(Arc::downgrade(&secrets), changes));
    Ok(secrecy::mask_lookups(
        move |variable: &str| match variable.strip_prefix(Template::SECRET) {
            Some(name) => secrets.known.load().get(name).cloned(),
            None => environment_variable(variable),
        },
    ))
}

/// Like `open_lookup`, for a command without an open store: the store is opened only if the
/// configuration needs secrets.
pub async fn open_lookup_without_store(config: &Config) -> anyhow::Result<Lookup> {
    if !needs_secrets(config) {
        return Ok(secrecy::mask_lookups(environment_variable));
    }
    open_lookup(config, &Store::open(store_address(config)?).await?).await
}

impl SecretSnapshot {
    async fn reload(&self) -> Result<(), kitbag_store::Error> {
        let opened = self.vault.open_all().await?;
        let revealed = |(name, secret): (SecretName, kitbag_store::Secret)| {
            (name.as_str().to_owned(), secret.reveal().to_owned())
        };
        self.known
            .store(Arc::new(opened.into_iter().map(revealed).collect()));
        Ok(())
    }
}

/// Reloads the secrets when they change, until no lookup uses them any more.
async fn follow_changes(secrets: Weak<SecretSnapshot>, mut changes: watch::Receiver<ChangeCounts>) {
    let mut known = changes.borrow().secrets;
    loop {
        let waited = tokio::time::timeout(CHECK_INTERVAL, changes.changed()).await;
        let is_closed = matches!(waited, Ok(Err(_)));
        let Some(secrets) = secrets.upgrade().filter(|_| !is_closed) else {
            return;
        };
        let counts = *changes.borrow_and_update();
        if counts.secrets == known {
            continue;
        }
        match secrets.reload().await {
            Ok(()) => known = counts.secrets,
            Err(error) => tracing::debug!(%error, "failed to reload the secrets"),
        }
    }
}

fn environment_variable(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

fn needs_secrets(config: &Config) -> bool {
    let marker = format!("${{{}", Template::SECRET);
    config_templates(config)
        .iter()
        .any(|template| template.source().contains(&marker))
}

/// Returns the environment variables that the configuration refers to, and the one that may hold
/// the key to its secrets.
pub fn referenced_variables(config: &Config) -> BTreeSet<String> {
    let templates = config_templates(config);
    let names = templates.iter().flat_map(|template| template.variables());
    let of_the_environment = names.filter(|name| !name.starts_with(Template::SECRET));
    of_the_environment
        .chain([KEY_VARIABLE])
        .map(str::to_owned)
        .collect()
}

/// Returns every text of the configuration that may contain variables.
fn config_templates(config: &Config) -> Vec<&Template> {
    let embedder = match &config.embedder {
        Embedder::Endpoint(endpoint) => endpoint.api_key.as_ref(),
        Embedder::BuiltIn | Embedder::Directory(_) => None,
    };
    let servers = config
        .servers
        .values()
        .flat_map(ServerSpec::templates_and_login);
    let providers = config
        .providers
        .values()
        .flat_map(|provider| provider.spec.headers.values());
    let store = match &config.store {
        StoreLocation::Postgres(address) => Some(address),
        StoreLocation::File(_) => None,
    };
    let vendors = [&config.models.anthropic, &config.models.openai];
    servers
        .chain(providers)
        .chain(vendors.into_iter().filter_map(|it| it.key.as_ref()))
        .chain(config.web.reader.iter().flat_map(|it| &it.token))
        .chain(embedder)
        .chain(store)
        .collect()
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Timestamp;
    use kitbag_store::Secret;

    use kitbag_config::{Environment, Overrides, parse};

    use super::*;

    fn config(text: &str) -> Config {
        let around = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        parse(text, None, &Overrides::default(), &around).unwrap()
    }

    #[tokio::test]
    async fn a_lost_key_affects_only_configurations_that_need_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        let name = "token".parse().unwrap();
        store
            .vault(None)
            .put_secret(&name, &Secret::new("s3cret"), Timestamp(1))
            .await
            .unwrap();

        let wants = "[providers.a]\nurl = 'https://a.example'\nbearer = '${secret:token}'";
        let found = open_lookup(&config(wants), &store).await.unwrap();
        assert_eq!(found("secret:token").as_deref(), Some("s3cret"));
        assert_eq!(found("secret:other"), None);
        assert_eq!(found("PATH"), std::env::var("PATH").ok());

        std::fs::remove_file(folder.path().join("secret.key")).unwrap();
        let error = open_lookup(&config(wants), &store).await.err().unwrap();
        assert!(
            format!("{error:#}").contains("secret.key` is missing"),
            "{error:#}"
        );
        let without = "[servers.a]\ncommand = 'a'\nenv = { T = '${TOKEN}' }";
        open_lookup(&config(without), &store)
            .await
            .expect("the lost key is not needed");
    }

    #[test]
    fn variables_are_found_everywhere_and_secrets_are_not_variables() {
        let text = "[servers.a]\ncommand = '${A}'\nenv = { K = '${B:-x}${secret:s}${C}' }\n\
                    [servers.b]\nurl = 'https://b/${D}'\n[providers.c]\nurl = 'https://c'\nbearer = '${E}'";
        let expected = ["A", "B", "C", "D", "E", KEY_VARIABLE].map(str::to_owned);
        assert_eq!(
            referenced_variables(&config(text)),
            BTreeSet::from(expected)
        );
    }

    #[test]
    fn secrets_are_needed_wherever_a_variable_may_occur() {
        for (text, expected) in [
            (
                "[servers.a]\ncommand = 'a'\nargs = ['--key=${secret:x}']",
                true,
            ),
            (
                "[servers.a]\ncommand = 'a'\nenv = { K = '${secret:x}' }",
                true,
            ),
            (
                "[servers.a]\nurl = 'https://a'\nheaders = { K = 'Bearer ${secret:x}' }",
                true,
            ),
            (
                "[servers.a]\nurl = 'https://a'\noauth = { client_id = 'k', client_secret = '${secret:x}' }",
                true,
            ),
            ("[servers.a]\nurl = 'https://a/${secret:x}/mcp'", true),
            ("[servers.a]\ncommand = '${secret:x}'", true),
            (
                "[providers.a]\nurl = 'https://a'\nheaders = { K = '${secret:x}' }",
                true,
            ),
            (
                "[index.embedder]\nendpoint = 'https://a'\nmodel = 'm'\napi_key = '${secret:x}'",
                true,
            ),
            (
                "[web]\nreader = 'https://a'\nreader_token = '${secret:x}'",
                true,
            ),
            (
                "[servers.a]\ncommand = 'a'\nenv = { K = '${x} secret:' }",
                false,
            ),
        ] {
            assert_eq!(needs_secrets(&config(text)), expected, "{text}");
        }
    }
}
