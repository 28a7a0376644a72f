//! The rooms of the house, together: what every request is carried through.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_domain::Timestamp;
use kitbag_policy::Policy;
use kitbag_store::{AuditSink, Store};
use kitbag_upstream::Upstreams;
use tokio::sync::Notify;

use crate::bridge::Parking;
use crate::catalog::Catalog;
use crate::config::Serve;
use crate::index::CapabilityIndex;
use crate::index::embedder::Embedder;
use crate::session::registry::Registry;
use crate::tasks::Tasks;

pub(crate) struct Rooms {
    pub(crate) serve: Serve,
    pub(crate) policy: Policy,
    pub(crate) store: Store,
    pub(crate) audit: AuditSink,
    pub(crate) upstreams: Arc<Upstreams>,
    catalog: ArcSwap<Catalog>,
    /// Says that there is a new catalog, to whoever builds upon it.
    pub(crate) catalog_changed: Notify,
    pub(crate) sessions: Registry,
    pub(crate) parking: Parking,
    pub(crate) tasks: Tasks,
    pub(crate) index: CapabilityIndex,
}

impl Rooms {
    pub(crate) fn new(
        serve: Serve,
        policy: Policy,
        store: Store,
        upstreams: Arc<Upstreams>,
        embedder: Embedder,
    ) -> Arc<Self> {
        let rooms = Arc::new(Self {
            serve,
            policy,
            audit: store.audit_sink(),
            index: CapabilityIndex::new(embedder, store.clone()),
            store,
            upstreams,
            catalog: ArcSwap::default(),
            catalog_changed: Notify::new(),
            sessions: Registry::default(),
            parking: Parking::default(),
            tasks: Tasks::default(),
        });
        rooms.rebuild_catalog();
        rooms
    }

    /// The catalog as it is now; take it once per request.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
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
