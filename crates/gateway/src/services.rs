//! The part of the gateway that the process keeps. It outlives every configuration.

use std::sync::Arc;

use kitbag_config::Config;
use kitbag_store::{AuditSink, Store};

use crate::contexts::Contexts;
use crate::definitions::Definitions;
use crate::flights::Flights;
use crate::index::CapabilityIndex;
use crate::intents::Intents;
use crate::kept::Kept;
use crate::meter::Meter;
use crate::parking::Parking;
use crate::readiness::Readiness;
use crate::refusals::Refusals;
use crate::secrecy::GivenSecrets;
use crate::session::holders::KeyHolders;
use crate::session::registry::SessionRegistry;
use crate::tasks::Tasks;
use kitbag_embed::TextEmbedder;
use kitbag_schema::Checker;
use kitbag_telemetry::process::Process;

pub struct Services {
    pub store: Store,
    pub audit: AuditSink,
    pub(crate) refusals: Arc<Refusals>,
    pub sessions: Arc<SessionRegistry>,
    pub(crate) holders: Arc<KeyHolders>,
    pub(crate) parking: Arc<Parking>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) tasks: Arc<Tasks>,
    pub index: Arc<CapabilityIndex>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) contexts: Arc<Contexts>,
    pub meter: Arc<Meter>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) given_secrets: Arc<GivenSecrets>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) intents: Arc<Intents>,
}

impl Services {
    /// Makes the services with which a process begins. Of the configuration they take only what
    /// holds until the process ends.
    pub(crate) fn new(config: &Config, store: Store, embedder: Arc<TextEmbedder>) -> Self {
        Process::begin();
        Self {
            audit: store.audit_sink(),
            index: Arc::new(CapabilityIndex::new(
                embedder,
                store.clone(),
                config.identity(),
            )),
            store,
            meter: Arc::new(Meter::new(config.telemetry.clone())),
            refusals: Arc::default(),
            sessions: Arc::default(),
            holders: Arc::default(),
            parking: Arc::default(),
            flights: Arc::default(),
            tasks: Arc::default(),
            checker: Arc::default(),
            kept: Arc::default(),
            contexts: Arc::default(),
            readiness: Arc::default(),
            given_secrets: Arc::default(),
            definitions: Arc::default(),
            intents: Arc::default(),
        }
    }
}
