//! Holds the current [`Gateway`] and replaces it when the configuration is reloaded. Requests that
//! began with the previous gateway finish with it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::Config;
use kitbag_domain::{Lookup, ServerName};
use kitbag_store::{Store, StoredListing};
use kitbag_upstream::{Listing, Notice, Server, ServerSpec, UpstreamContext, Upstreams};
use tokio::sync::{Notify, mpsc};

use crate::catalog::built_in_servers;
use crate::catalog::drift;
use crate::catalog::providers::Providers;
use crate::catalog::tool_files::{FileTools, LoadedToolFiles};
use crate::catalog::{Catalog, CatalogSources};
use crate::learning::template_check::check_templates;
use crate::models::model_vendors::ModelVendors;
use crate::secrets::credentials::{Credentials, credential_names};
use crate::secrets::login;
use crate::secrets::secrecy;
use crate::secrets::vault;
use crate::state::gateway::{Backends, Gateway};
use crate::state::services::Services;
use crate::state::store_address::store_address;
use crate::state::web_pages::ConfiguredWeb;
use kitbag_domain::sync::lock;
use kitbag_embedding::TextEmbedder;

pub struct GatewayHost {
    gateway: ArcSwap<Gateway>,
    /// The number of times that a new catalog was requested.
    wanted_catalogs: AtomicU64,
    /// How many of these requests the latest catalog covers. Locked while a catalog is built, or
    /// one from older listings could replace a newer one.
    built_catalogs: Mutex<u64>,
    /// Notifies the task that updates the index of a new catalog.
    pub(crate) catalog_changed: Notify,
}

/// The servers that differ after a reload of the configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ServerChanges {
    pub added: BTreeSet<ServerName>,
    pub changed: BTreeSet<ServerName>,
    pub removed: BTreeSet<ServerName>,
}

impl GatewayHost {
    pub(crate) async fn open(
        config: &Config,
    ) -> anyhow::Result<(Arc<Self>, mpsc::Receiver<Notice>)> {
        let store = Store::open(store_address(config)?).await?;
        let lookup = vault::open_lookup(config, &store).await?;
        let embedder = Arc::new(TextEmbedder::new(&config.embedder, &lookup));
        let context = server_context(config, &store, lookup, &embedder)?;
        let logs = config.data_dir.join("logs");
        let servers = load_listings(config.running_servers(), &store).await?;
        let (upstreams, notices) = Upstreams::new(servers, Some(&logs), &context);
        let credentials = Credentials::open(vault::open_vault(config.secret_key, &store)?).await?;
        let tool_files = LoadedToolFiles::read(
            config.catalog.clone(),
            &credentials.names(),
            &FileTools::default(),
        );
        let web = ConfiguredWeb::new(&config.web, &context.lookup);
        let backends = build_backends(config, upstreams, tool_files, web, &context.lookup);
        let services = Arc::new(Services::new(config, store, embedder, credentials));
        let gateway = ArcSwap::from_pointee(Gateway::new(config, backends, services));
        let host = Arc::new(Self {
            gateway,
            wanted_catalogs: AtomicU64::default(),
            built_catalogs: Mutex::default(),
            catalog_changed: Notify::new(),
        });
        host.rebuild_catalog().await;
        Ok((host, notices))
    }

    /// Returns the current [`Gateway`]. A request calls this once.
    pub fn gateway(&self) -> Arc<Gateway> {
        self.gateway.load_full()
    }

    /// Logs, now and from now on, definitions that differ from the approved ones.
    pub fn start_drift_log(&self) {
        let gateway = self.gateway();
        let log = &gateway.services.drift_log;
        log.enable();
        log.log_drift(&gateway.lock, &gateway.catalog().unapproved);
    }

    /// Rebuilds the catalog from the latest listings, on a blocking thread. Requests use the
    /// previous catalog until then.
    pub(crate) async fn rebuild_catalog(self: &Arc<Self>) {
        let host = self.clone();
        let number = 1 + self.wanted_catalogs.fetch_add(1, Ordering::SeqCst);
        let built = tokio::task::spawn_blocking(move || host.build_requested_catalog(number));
        if built.await.is_err() {
            tracing::error!("building the catalog failed; the previous catalog stays in use");
        }
    }

    /// Builds a catalog, unless a build that began after this request covers it: when hundreds of
    /// servers are listed at once, most requests share a build.
    fn build_requested_catalog(&self, number: u64) {
        let mut built = lock(&self.built_catalogs);
        if *built >= number {
            return;
        }
        let covered = self.wanted_catalogs.load(Ordering::SeqCst);
        self.gateway.load().rebuild_catalog();
        *built = covered;
        drop(built);
        self.catalog_changed.notify_one();
    }

    /// Replaces the effective configuration (reload). If the new one cannot be used, nothing
    /// changes.
    pub async fn replace_config(
        self: &Arc<Self>,
        config: &Config,
    ) -> anyhow::Result<ServerChanges> {
        let before = self.gateway();
        let lookup = vault::open_lookup(config, &before.services.store).await?;
        let context = server_context(
            config,
            &before.services.store,
            lookup,
            &before.services.index.embedder(),
        )?;
        let servers = load_listings(config.running_servers(), &before.services.store).await?;
        let upstreams = before.upstreams.with_servers(servers, &context);
        let tool_files = LoadedToolFiles::read(
            config.catalog.clone(),
            &before.services.credentials.names(),
            &before.tool_files.tools(),
        );
        let web = before.web.with_settings(&config.web, &context.lookup);
        let backends = build_backends(config, upstreams, tool_files, web, &context.lookup);
        let after = Arc::new(before.with_config(config, backends));
        // The first request to the new gateway must not find the catalog empty.
        let empty = after.clone();
        let _ = tokio::task::spawn_blocking(move || empty.rebuild_catalog()).await;
        self.gateway.store(after.clone());
        after.services.intents.forget_results();
        tokio::spawn(check_templates(after.clone()));
        // Rebuilds the catalog once more: a listing that arrived in the meantime went to the
        // previous gateway.
        self.rebuild_catalog().await;
        for server in before
            .upstreams
            .iter()
            .filter(|server| is_replaced(server, &after.upstreams))
        {
            let server = server.clone();
            tokio::spawn(async move { server.retire().await });
        }
        Ok(ServerChanges::between_servers(
            &before.upstreams,
            &after.upstreams,
        ))
    }
}

impl ServerChanges {
    fn between_servers(before: &Upstreams, after: &Upstreams) -> Self {
        let mut found = Self::default();
        for server in before.iter().filter(|server| is_replaced(server, after)) {
            let name = server.name().clone();
            if after.get(&name).is_some() {
                &mut found.changed
            } else {
                &mut found.removed
            }
            .insert(name);
        }
        let new = after
            .iter()
            .map(|server| server.name())
            .filter(|name| before.get(name).is_none());
        found.added = new.cloned().collect();
        found
    }
}

fn is_replaced(server: &Arc<Server>, after: &Upstreams) -> bool {
    after
        .get(server.name())
        .is_none_or(|it| !Arc::ptr_eq(it, server))
}

fn build_backends(
    config: &Config,
    upstreams: Arc<Upstreams>,
    tool_files: LoadedToolFiles,
    web: ConfiguredWeb,
    lookup: &Lookup,
) -> Backends {
    Backends {
        upstreams,
        tool_files,
        web,
        providers: Providers::new(&config.providers, lookup),
        models: ModelVendors::new(&config.models, lookup),
    }
}

fn server_context(
    config: &Config,
    store: &Store,
    lookup: Lookup,
    embedder: &Arc<TextEmbedder>,
) -> anyhow::Result<UpstreamContext> {
    let logins = Some(login::stored_logins(config, store)?);
    let built_in = Some(built_in_servers::built_in_opener(config, embedder.clone()));
    Ok(UpstreamContext {
        lookup,
        logins,
        built_in,
        find_secrets: secrecy::find_secrets,
        hash_definition: drift::hash_definition,
        secrets_key: config.secret_key.as_str(),
    })
}

/// Returns the catalog of an earlier run, from stored listings, without starting any server.
pub async fn stored_catalog(
    config: &Config,
    store: &Store,
) -> Result<Catalog, kitbag_store::Error> {
    let servers = load_listings(config.running_servers(), store).await?;
    let listings = servers
        .into_iter()
        .filter_map(|(spec, listing)| Some((spec.name, Arc::new(listing?))));
    let credentials = credential_names(&store.vault(None)).await?;
    let tools = LoadedToolFiles::read(config.catalog.clone(), &credentials, &FileTools::default());
    Ok(Catalog::build(CatalogSources {
        listings: listings.collect(),
        lock: &config.lock,
        tool_files: &tools.tools(),
        overrides: &config.tools,
        before: &Catalog::default(),
    }))
}

/// Returns each server with its stored listing, unless its configuration has changed since.
async fn load_listings(
    specs: impl Iterator<Item = &ServerSpec>,
    store: &Store,
) -> Result<Vec<(ServerSpec, Option<Listing>)>, kitbag_store::Error> {
    let mut servers = Vec::new();
    for spec in specs {
        servers.push((spec.clone(), load_listing(spec, store).await?));
    }
    Ok(servers)
}

/// Returns the stored listing of a server, unless its configuration has changed since.
pub(crate) async fn load_listing(
    spec: &ServerSpec,
    store: &Store,
) -> Result<Option<Listing>, kitbag_store::Error> {
    let stored = store.listing(&spec.name).await?;
    let stored = stored.filter(|stored| stored.fingerprint == spec.fingerprint());
    // Parsing a long listing takes a while, and requests must not wait for it.
    let reading = tokio::task::spawn_blocking(move || parse_listing(&stored?));
    Ok(reading.await.unwrap_or_default())
}

fn parse_listing(stored: &StoredListing) -> Option<Listing> {
    Listing::from_stored(&stored.body, stored.listed_at)
}

#[cfg(test)]
mod tests {
    use kitbag_config::{Environment, KeyLocation, Overrides, parse};

    use super::*;

    #[tokio::test]
    async fn a_lookup_with_a_moved_key_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let around = Environment {
            home: Some(folder.path().into()),
            ..Environment::default()
        };
        let text = "[servers.a]\ncommand = 'a'\n[agents]\nenabled = false";
        let mut config = parse(text, None, &Overrides::default(), &around).unwrap();
        let (host, _notices) = GatewayHost::open(&config).await.unwrap();
        assert_eq!(
            host.replace_config(&config).await.unwrap(),
            ServerChanges::default()
        );
        config.secret_key = KeyLocation::Env;
        let done = host.replace_config(&config).await.unwrap();
        assert_eq!(done.changed, BTreeSet::from(["a".parse().unwrap()]));
    }
}
