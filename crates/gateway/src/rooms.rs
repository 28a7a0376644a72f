//! The rooms of the house, together: what every request is carried through.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kitbag_domain::{ServerName, Timestamp};
use kitbag_policy::Policy;
use kitbag_store::{AuditSink, Store};
use kitbag_upstream::Upstreams;
use tokio::sync::Notify;

use crate::bridge::Parking;
use crate::catalog::Catalog;
use crate::config::{Config, Serve};
use crate::index::CapabilityIndex;
use crate::index::embedder::Embedder;
use crate::meter::Meter;
use crate::providers::Providers;
use crate::schema::Checker;
use crate::session::registry::Registry;
use crate::surface::{Contexts, Kept, Surfaces};
use crate::tasks::Tasks;

pub(crate) struct Rooms {
    pub(crate) serve: Serve,
    pub(crate) surfaces: Surfaces,
    pub(crate) policy: Policy,
    pub(crate) store: Store,
    pub(crate) audit: AuditSink,
    pub(crate) keep_audit: Duration,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    catalog: ArcSwap<Catalog>,
    /// Says that there is a new catalog, to whoever builds upon it.
    pub(crate) catalog_changed: Notify,
    pub(crate) sessions: Registry,
    pub(crate) parking: Parking,
    pub(crate) tasks: Tasks,
    pub(crate) index: CapabilityIndex,
    pub(crate) checker: Checker,
    pub(crate) kept: Kept,
    pub(crate) contexts: Contexts,
    pub(crate) meter: Meter,
}

impl Rooms {
    pub(crate) fn new(
        config: &Config,
        store: Store,
        upstreams: Arc<Upstreams>,
        providers: Providers,
    ) -> Arc<Self> {
        let rooms = Arc::new(Self {
            serve: config.serve.clone(),
            surfaces: config.surfaces.clone(),
            policy: config.policy.clone(),
            audit: store.audit_sink(),
            index: CapabilityIndex::new(Embedder::new(&config.embedder), config.tools.clone(), store.clone()),
            keep_audit: config.keep_audit,
            store,
            upstreams,
            providers,
            catalog: ArcSwap::default(),
            catalog_changed: Notify::new(),
            sessions: Registry::default(),
            parking: Parking::default(),
            tasks: Tasks::default(),
            checker: Checker::default(),
            kept: Kept::default(),
            contexts: Contexts::default(),
            meter: Meter::new(config.telemetry.clone()),
        });
        rooms.rebuild_catalog();
        rooms
    }

    /// The catalog as it is now; take it once per request.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Servers that have not said yet what they offer.
    pub(crate) fn unlisted(&self) -> HashSet<ServerName> {
        let unlisted = self.upstreams.iter().filter(|server| server.listing().is_none());
        unlisted.map(|server| server.name().clone()).collect()
    }

    /// Builds the catalog anew from what the servers listed last.
    pub(crate) fn rebuild_catalog(&self) {
        let listings: BTreeMap<_, _> = self
            .upstreams
            .iter()
            .filter_map(|server| Some((server.name().clone(), server.listing()?)))
            .collect();
        self.catalog.store(Arc::new(Catalog::build(listings)));
        self.catalog_changed.notify_one();
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
