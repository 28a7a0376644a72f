//! The services that live as long as the process and outlive every configuration: store, sessions,
//! index, meter, audit.

use std::sync::{Arc, OnceLock};

use kitbag_clients::without_secrets;
use kitbag_config::Config;
use kitbag_store::{AuditSink, Store};

use crate::call::parking::Parking;
use crate::call::remainder::Remainders;
use crate::call::tasks::Tasks;
use crate::catalog::approved_texts::MaskedSecrets;
use crate::catalog::definitions::Definitions;
use crate::catalog::drift::DriftLog;
use crate::front::announced_guides::AnnouncedGuides;
use crate::front::in_flight::InFlightLoad;
use crate::front::session::key_requests::RequestsByKey;
use crate::front::session::registry::SessionRegistry;
use crate::index::CapabilityIndex;
use crate::learning::Learner;
use crate::learning::client_lists::ClientLists;
use crate::learning::intents::Intents;
use crate::models::conversations::Conversations;
use crate::secrets::credentials::Credentials;
use crate::state::readiness::Readiness;
use crate::telemetry::meter::Meter;
use crate::telemetry::rejections::KeyRejectionLog;
use crate::telemetry::row_budget::TenantBudgets;
use kitbag_embedding::TextEmbedder;
use kitbag_fetch::relay::Relay;
use kitbag_schema::Checker;
use kitbag_telemetry::process::ProcessFigures;

pub struct Services {
    pub store: Store,
    pub audit: AuditSink,
    pub(crate) key_rejections: Arc<KeyRejectionLog>,
    /// How many audit rows of searches each tenant may still cause.
    pub(crate) query_budgets: Arc<TenantBudgets>,
    pub sessions: Arc<SessionRegistry>,
    pub(crate) key_requests: Arc<RequestsByKey>,
    pub(crate) parking: Arc<Parking>,
    pub(crate) in_flight: Arc<InFlightLoad>,
    pub(crate) tasks: Arc<Tasks>,
    pub index: Arc<CapabilityIndex>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) remainders: Arc<Remainders>,
    pub(crate) client_lists: Arc<ClientLists>,
    pub(crate) announced_guides: Arc<AnnouncedGuides>,
    pub(crate) learner: Learner,
    pub(crate) conversations: Arc<Conversations>,
    pub meter: Arc<Meter>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) drift_log: Arc<DriftLog>,
    pub(crate) masked_secrets: Arc<MaskedSecrets>,
    /// The HTTP client for vendors of models, created for the first request.
    relay: OnceLock<Relay>,
    pub(crate) intents: Arc<Intents>,
    pub(crate) credentials: Credentials,
}

impl Services {
    /// Creates the services of a process. They read only those settings that a reload does not
    /// change.
    pub(crate) fn new(
        config: &Config,
        store: Store,
        embedder: Arc<TextEmbedder>,
        credentials: Credentials,
    ) -> Self {
        ProcessFigures::record_start();
        let index = CapabilityIndex::new(embedder, store.clone(), config.identity());
        let index = Arc::new(index);
        Self {
            audit: store.start_audit_sink(),
            learner: Learner::start(index.clone(), store.clone()),
            index,
            store,
            meter: Arc::new(Meter::new(config.telemetry.clone())),
            key_rejections: Arc::default(),
            query_budgets: Arc::default(),
            sessions: Arc::default(),
            key_requests: Arc::default(),
            parking: Arc::default(),
            in_flight: Arc::default(),
            tasks: Arc::default(),
            checker: Arc::new(Checker::with_mask(without_secrets)),
            remainders: Arc::default(),
            client_lists: Arc::default(),
            announced_guides: Arc::default(),
            conversations: Arc::default(),
            readiness: Arc::default(),
            definitions: Arc::default(),
            drift_log: Arc::default(),
            masked_secrets: Arc::default(),
            relay: OnceLock::new(),
            intents: Arc::default(),
            credentials,
        }
    }

    pub(crate) fn relay(&self) -> &Relay {
        self.relay.get_or_init(Relay::new)
    }
}
