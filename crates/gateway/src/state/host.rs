//! Holds the [`Gateway`] that is in use now. A new reading of the configuration makes a new
//! [`Gateway`]; the requests that began with the old one finish with the old one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::Config;
use kitbag_domain::{Lookup, ServerName};
use kitbag_store::{Store, StoredListing};
use kitbag_upstream::{Listing, Notice, Server, ServerSpec, UpstreamContext, Upstreams};
use tokio::sync::{Notify, mpsc};

use crate::catalog::drift;
use crate::catalog::inside;
use crate::catalog::providers::Providers;
use crate::catalog::tool_files::{DeclaredTools, FileTools};
use crate::catalog::{Catalog, CatalogSources};
use crate::learning::template_check::check_templates;
use crate::models::model_vendors::ModelVendors;
use crate::secrets::credentials::{Credentials, credential_names};
use crate::secrets::login;
use crate::secrets::secrecy;
use crate::secrets::vault;
use crate::state::gateway::{Gateway, Reached};
use crate::state::services::Services;
use crate::state::store_place::store_address;
use crate::state::web_pages::ConfiguredWeb;
use kitbag_domain::sync::lock;
use kitbag_embedding::TextEmbedder;

pub struct GatewayHost {
    gateway: ArcSwap<Gateway>,
    /// The number of times that a new catalog was wanted.
    wanted_catalogs: AtomicU64,
    /// The wishes that the latest catalog fulfils. Held while a catalog is built, or one from older
    /// listings could replace a newer one.
    built_catalogs: Mutex<u64>,
    /// Says that there is a new catalog, to the task that builds the index from it.
    pub(crate) catalog_changed: Notify,
}

/// The servers that are different after another reading of the configuration.
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
        let lookup = vault::lookup(config, &store).await?;
        let embedder = Arc::new(TextEmbedder::new(&config.embedder, &lookup));
        let context = upstream_context(config, &store, lookup, &embedder)?;
        let logs = config.data_dir.join("logs");
        let servers = with_listings(config.running(), &store).await?;
        let (upstreams, notices) = Upstreams::new(servers, Some(&logs), &context);
        let credentials = Credentials::open(vault::vault(config.secret_key, &store)?).await?;
        let tool_files = DeclaredTools::read(
            config.catalog.clone(),
            &credentials.names(),
            &FileTools::default(),
        );
        let web = ConfiguredWeb::new(&config.web, &context.lookup);
        let reached = reached(config, upstreams, tool_files, web, &context.lookup);
        let services = Arc::new(Services::new(config, store, embedder, credentials));
        let gateway = ArcSwap::from_pointee(Gateway::new(config, reached, services));
        let host = Arc::new(Self {
            gateway,
            wanted_catalogs: AtomicU64::default(),
            built_catalogs: Mutex::default(),
            catalog_changed: Notify::new(),
        });
        host.rebuild_catalog().await;
        Ok((host, notices))
    }

    /// Returns the [`Gateway`] that is in use now; a request takes it once.
    pub fn gateway(&self) -> Arc<Gateway> {
        self.gateway.load_full()
    }

    /// Tells the operator from now on, in the log, what is not as it was approved.
    pub fn tell_drift(&self) {
        let gateway = self.gateway();
        let log = &gateway.services.drift_log;
        log.switch_on();
        log.tell(&gateway.lock, &gateway.catalog().held);
    }

    /// Builds the catalog anew from what the servers listed last, on a thread of its own: requests
    /// are answered from the one before meanwhile.
    pub(crate) async fn rebuild_catalog(self: &Arc<Self>) {
        let host = self.clone();
        let wish = 1 + self.wanted_catalogs.fetch_add(1, Ordering::SeqCst);
        let built = tokio::task::spawn_blocking(move || host.fulfil(wish));
        if built.await.is_err() {
            tracing::error!("the catalog could not be built; the one before stays in use");
        }
    }

    /// Builds a catalog, unless one was begun after the wish was made: when hundreds of servers are listed
    /// at once, most wishes are fulfilled by the catalog of another.
    fn fulfil(&self, wish: u64) {
        let mut built = lock(&self.built_catalogs);
        if *built >= wish {
            return;
        }
        let fulfilled = self.wanted_catalogs.load(Ordering::SeqCst);
        self.gateway.load().rebuild_catalog();
        *built = fulfilled;
        drop(built);
        self.catalog_changed.notify_one();
    }

    /// Puts another configuration in place of the one before. If it cannot be used, everything
    /// stays as it is.
    pub async fn replace_config(
        self: &Arc<Self>,
        config: &Config,
    ) -> anyhow::Result<ServerChanges> {
        let before = self.gateway();
        let lookup = vault::lookup(config, &before.services.store).await?;
        let context = upstream_context(
            config,
            &before.services.store,
            lookup,
            &before.services.index.embedder(),
        )?;
        let servers = with_listings(config.running(), &before.services.store).await?;
        let upstreams = before.upstreams.succeeded_by(servers, &context);
        let tool_files = DeclaredTools::read(
            config.catalog.clone(),
            &before.services.credentials.names(),
            &before.tool_files.offered(),
        );
        let web = before.web.succeeded_by(&config.web, &context.lookup);
        let reached = reached(config, upstreams, tool_files, web, &context.lookup);
        let after = Arc::new(before.succeeded_by(config, reached));
        // The first request to the new gateway must not find the catalog empty.
        let empty = after.clone();
        let _ = tokio::task::spawn_blocking(move || empty.rebuild_catalog()).await;
        self.gateway.store(after.clone());
        after.services.intents.forget_results();
        tokio::spawn(check_templates(after.clone()));
        // The catalog is built again only now: a listing that came meanwhile went into the gateway
        // before.
        self.rebuild_catalog().await;
        for server in before
            .upstreams
            .iter()
            .filter(|server| is_gone(server, &after.upstreams))
        {
            let server = server.clone();
            tokio::spawn(async move { server.retire().await });
        }
        Ok(ServerChanges::between(&before.upstreams, &after.upstreams))
    }
}

impl ServerChanges {
    fn between(before: &Upstreams, after: &Upstreams) -> Self {
        let mut found = Self::default();
        for server in before.iter().filter(|server| is_gone(server, after)) {
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

fn is_gone(server: &Arc<Server>, after: &Upstreams) -> bool {
    after
        .get(server.name())
        .is_none_or(|it| !Arc::ptr_eq(it, server))
}

fn reached(
    config: &Config,
    upstreams: Arc<Upstreams>,
    tool_files: DeclaredTools,
    web: ConfiguredWeb,
    lookup: &Lookup,
) -> Reached {
    Reached {
        upstreams,
        tool_files,
        web,
        providers: Providers::new(&config.providers, lookup),
        models: ModelVendors::new(&config.models, lookup),
    }
}

fn upstream_context(
    config: &Config,
    store: &Store,
    lookup: Lookup,
    embedder: &Arc<TextEmbedder>,
) -> anyhow::Result<UpstreamContext> {
    let logins = Some(login::logins(config, store)?);
    let built_in = Some(inside::opener(config, embedder.clone()));
    Ok(UpstreamContext {
        lookup,
        logins,
        built_in,
        find_secrets: secrecy::find_secrets,
        hash_definition: drift::hash_definition,
        secrets_key: config.secret_key.as_str(),
    })
}

/// Returns what servers offered in an earlier run, without opening or starting anything.
pub async fn known(config: &Config, store: &Store) -> Result<Catalog, kitbag_store::Error> {
    let servers = with_listings(config.running(), store).await?;
    let listings = servers
        .into_iter()
        .filter_map(|(spec, listing)| Some((spec.name, Arc::new(listing?))));
    let credentials = credential_names(&store.vault(None)).await?;
    let tools = DeclaredTools::read(config.catalog.clone(), &credentials, &FileTools::default());
    Ok(Catalog::build(CatalogSources {
        listings: listings.collect(),
        lock: &config.lock,
        tool_files: &tools.offered(),
        declared: &config.tools,
        before: &Catalog::default(),
    }))
}

/// Each server with what it offered in an earlier run, unless its configuration has changed since.
async fn with_listings(
    specs: impl Iterator<Item = &ServerSpec>,
    store: &Store,
) -> Result<Vec<(ServerSpec, Option<Listing>)>, kitbag_store::Error> {
    let mut servers = Vec::new();
    for spec in specs {
        servers.push((spec.clone(), stored_listing(spec, store).await?));
    }
    Ok(servers)
}

/// The listing of a server in the store, unless its configuration has changed since.
pub(crate) async fn stored_listing(
    spec: &ServerSpec,
    store: &Store,
) -> Result<Option<Listing>, kitbag_store::Error> {
    let stored = store.listing(&spec.name).await?;
    let stored = stored.filter(|stored| stored.fingerprint == spec.fingerprint());
    // A long listing takes a while to read, and requests must not wait for that.
    let reading = tokio::task::spawn_blocking(move || read_listing(&stored?));
    Ok(reading.await.unwrap_or_default())
}

fn read_listing(stored: &StoredListing) -> Option<Listing> {
    Listing::read(&stored.body, stored.listed_at)
}

#[cfg(test)]
mod tests {
    use kitbag_config::{KeyPlace, Overrides, Surroundings, parse};

    use super::*;

    #[tokio::test]
    async fn who_looked_for_secrets_under_a_key_that_was_moved_is_opened_anew() {
        let folder = tempfile::tempdir().unwrap();
        let around = Surroundings {
            home: Some(folder.path().into()),
            ..Surroundings::default()
        };
        let text = "[servers.a]\ncommand = 'a'\n[agents]\nenabled = false";
        let mut config = parse(text, None, &Overrides::default(), &around).unwrap();
        let (host, _notices) = GatewayHost::open(&config).await.unwrap();
        assert_eq!(
            host.replace_config(&config).await.unwrap(),
            ServerChanges::default()
        );
        config.secret_key = KeyPlace::Keyring;
        let done = host.replace_config(&config).await.unwrap();
        assert_eq!(done.changed, BTreeSet::from(["a".parse().unwrap()]));
    }
}
