//! The rooms of the house, together: what every request is carried through.
//!
//! Gateway are furnished by one reading of the configuration and never change. What outlives a
//! reading is shared with the rooms that come after.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_domain::{Caller, ServerName, Timestamp};
use kitbag_policy::Policy;
use kitbag_store::{AuditSink, Store};
use kitbag_upstream::Upstreams;

use crate::bridge::Parking;
use crate::catalog::Catalog;
use crate::config::{Audit, Config, Serve};
use crate::definitions::Definitions;
use crate::flights::Flights;
use crate::front::ready::Readiness;
use crate::index::embedder::Embedder;
use crate::index::priors::Declared;
use crate::index::{CapabilityIndex, Contents};
use crate::meter::{Meter, Process};
use crate::providers::Providers;
use crate::refusals::Refusals;
use crate::schema::Checker;
use crate::secrecy::GivenSecrets;
use crate::session::holders::KeyHolders;
use crate::session::registry::Registry;
use crate::surface::{Contexts, Kept, Surfaces};
use crate::tasks::Tasks;

pub(crate) struct Gateway {
    pub(crate) serve: Serve,
    pub(crate) surfaces: Surfaces,
    pub(crate) policy: Policy,
    pub(crate) audit_settings: Audit,
    pub(crate) metrics_per_tool: bool,
    /// What is declared of single tools, by the name clients call them.
    pub(crate) declared: Declared,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    catalog: ArcSwap<Catalog>,
    pub(crate) store: Store,
    pub(crate) audit: AuditSink,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) sessions: Arc<Registry>,
    pub(crate) holders: Arc<KeyHolders>,
    pub(crate) parking: Arc<Parking>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) index: Arc<CapabilityIndex>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) contexts: Arc<Contexts>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) given_secrets: Arc<GivenSecrets>,
    pub(crate) definitions: Arc<Definitions>,
}

impl Gateway {
    pub(crate) fn new(
        config: &Config,
        store: Store,
        upstreams: Arc<Upstreams>,
        providers: Providers,
        embedder: Arc<Embedder>,
    ) -> Self {
        Process::begin();
        Self {
            serve: config.serve.clone(),
            surfaces: config.surfaces.clone(),
            policy: config.policy.clone(),
            audit_settings: config.audit,
            metrics_per_tool: config.telemetry.per_tool,
            declared: config.tools.clone(),
            upstreams,
            providers,
            catalog: ArcSwap::default(),
            audit: store.audit_sink(),
            refusals: Arc::default(),
            index: Arc::new(CapabilityIndex::new(
                embedder,
                store.clone(),
                config.identity(),
            )),
            store,
            sessions: Arc::default(),
            holders: Arc::default(),
            parking: Arc::default(),
            flights: Arc::default(),
            tasks: Arc::default(),
            checker: Arc::default(),
            kept: Arc::default(),
            contexts: Arc::default(),
            meter: Arc::new(Meter::new(config.telemetry.clone())),
            readiness: Arc::default(),
            given_secrets: Arc::default(),
            definitions: Arc::default(),
        }
    }

    /// The rooms after another reading of the configuration, without a catalog yet.
    pub(crate) fn succeeded_by(
        &self,
        config: &Config,
        upstreams: Arc<Upstreams>,
        providers: Providers,
    ) -> Self {
        Self {
            // The listener stays where it is.
            serve: Serve {
                bind: self.serve.bind,
                ..config.serve.clone()
            },
            surfaces: config.surfaces.clone(),
            policy: config.policy.clone(),
            audit_settings: config.audit,
            metrics_per_tool: config.telemetry.per_tool,
            declared: config.tools.clone(),
            upstreams,
            providers,
            catalog: ArcSwap::default(),
            store: self.store.clone(),
            audit: self.audit.clone(),
            refusals: self.refusals.clone(),
            sessions: self.sessions.clone(),
            holders: self.holders.clone(),
            parking: self.parking.clone(),
            flights: self.flights.clone(),
            tasks: self.tasks.clone(),
            index: self.index.clone(),
            checker: self.checker.clone(),
            kept: self.kept.clone(),
            contexts: self.contexts.clone(),
            meter: self.meter.clone(),
            readiness: self.readiness.clone(),
            given_secrets: self.given_secrets.clone(),
            definitions: self.definitions.clone(),
        }
    }

    /// The catalog as it is now; take it once per request.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Whether the caller may know of a server or an API. From a caller with a key one is hidden also
    /// when rules leave it nothing there: its name alone would tell of what it may not see.
    pub(crate) fn server_visible(&self, caller: &Caller, server: &ServerName) -> bool {
        self.server_visible_in(&self.catalog(), caller, server)
    }

    pub(crate) fn server_visible_in(
        &self,
        catalog: &Catalog,
        caller: &Caller,
        server: &ServerName,
    ) -> bool {
        if caller.is_local() || !self.policy.judges_tools(caller) {
            return self.policy.server_visible(caller, server);
        }
        let mut offered = catalog.of_server(server).peekable();
        match offered.peek() {
            Some(_) => offered.any(|entry| self.policy.visible(caller, &entry.capability)),
            None => self.policy.may_reach(caller, server),
        }
    }

    /// How many tools of the index the caller may see, and how many of those have their vector.
    pub(crate) fn indexed(&self, caller: &Caller) -> (usize, usize) {
        let snapshot = self.index.snapshot();
        if caller.sees_all_tenants() {
            return (snapshot.index.len(), snapshot.index.embedded());
        }
        let catalog = self.catalog();
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| self.policy.visible(caller, &entry.capability));
        let documents = visible.filter_map(|entry| snapshot.index.get(&entry.exposed));
        documents.fold((0, 0), |(tools, embedded), document| {
            (tools + 1, embedded + usize::from(document.vector.is_some()))
        })
    }

    /// Servers that have not said yet what they offer.
    pub(crate) fn unlisted(&self) -> HashSet<ServerName> {
        let unlisted = self
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none());
        unlisted.map(|server| server.name().clone()).collect()
    }

    /// What the index is built from.
    pub(crate) fn contents<'a>(
        &'a self,
        catalog: &'a Catalog,
        unlisted: &'a HashSet<ServerName>,
    ) -> Contents<'a> {
        Contents {
            catalog,
            providers: &self.providers,
            declared: &self.declared,
            unlisted,
        }
    }

    /// Whether a server runs in this process and is there for everybody.
    pub(crate) fn is_built_in(&self, server: &ServerName) -> bool {
        self.upstreams
            .get(server)
            .is_some_and(|server| server.spec().is_inside())
    }

    /// Builds the catalog anew from what the servers listed last.
    pub(crate) fn rebuild_catalog(&self) {
        let listings: BTreeMap<_, _> = self
            .upstreams
            .iter()
            .filter_map(|server| Some((server.name().clone(), server.listing()?)))
            .collect();
        let catalog = Arc::new(Catalog::build(listings));
        let before = self.catalog.swap(catalog.clone());
        mention_contests(&before, &catalog);
    }
}

/// Warns of URIs that several servers claim since the catalog before. Two servers of a kind share
/// everything they have, so one stands for all.
fn mention_contests(before: &Catalog, after: &Catalog) {
    let known = before.routes().contested();
    let mut fresh = after.routes().contested();
    fresh.retain(|uri, servers| known.get(uri) != Some(servers));
    let Some((uri, servers)) = fresh.first_key_value() else {
        return;
    };
    let servers = servers
        .iter()
        .map(ServerName::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    tracing::warn!(
        uri,
        servers,
        count = fresh.len(),
        "several servers claim the same resources; they are read as kitbag://server/<server>/<uri>"
    );
}

pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
