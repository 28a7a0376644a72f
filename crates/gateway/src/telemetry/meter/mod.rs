//! Counts what lists, searches and calls cost the models that read them, and how calls end. Tokens
//! are estimates here: an exact count would take too long while a client waits.
//!
//! # Layout
//! - this file: the moments at which something is counted
//! - `prices`: what the whole catalog would have cost a caller
//!
//! The figures themselves, and the forms in which they are published, are in `kitbag-telemetry`.

mod prices;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_domain::{Caller, Capability, Kind, Observation, ServerName, Tenant, TraceParent};
use kitbag_wire::Raw;

use self::prices::Prices;
use crate::call::failure::Failure;
use crate::catalog::Catalog;
use crate::turn::client::McpClient;
use crate::turn::view::View;
use kitbag_domain::sync::lock;
use kitbag_policy::Policy;
use kitbag_telemetry::figures::{ListFigures, MeteredClient, UNKNOWN, UsageFigures};
use kitbag_telemetry::model_requests::{ModelFigures, ModelRequestFigures};
use kitbag_telemetry::operations::{EndedOperation, OperationEvent};
use kitbag_telemetry::otlp::{OtlpError, OtlpExporter};
use kitbag_telemetry::span_ids::new_span;
use kitbag_wire::Era;

pub struct Meter {
    tables: Arc<Mutex<UsageFigures>>,
    prices: Prices,
    settings: kitbag_config::Telemetry,
    telemetry: OnceLock<OtlpExporter>,
    models: Mutex<ModelRequestFigures>,
    keys_refused: [AtomicU64; KeyRefusal::ALL.len()],
}

/// A list of tools that a client was shown.
pub(crate) struct ShownList<'a> {
    pub(crate) client: &'a McpClient,
    pub(crate) view: &'a View,
    pub(crate) policy: &'a Policy,
    pub(crate) catalog: &'a Arc<Catalog>,
    pub(crate) text: &'a str,
}

/// The reason why a key was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyRefusal {
    /// A key was wanted and none was shown.
    Missing,
    Unknown,
    Revoked,
    Expired,
}

impl Meter {
    pub(crate) fn new(settings: kitbag_config::Telemetry) -> Self {
        Self {
            tables: Arc::default(),
            prices: Prices::default(),
            settings,
            telemetry: OnceLock::new(),
            models: Mutex::default(),
            keys_refused: Default::default(),
        }
    }

    pub(crate) fn key_refused(&self, why: KeyRefusal) {
        self.keys_refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn keys_refused(&self) -> impl Iterator<Item = (KeyRefusal, u64)> {
        KeyRefusal::ALL
            .into_iter()
            .map(|why| (why, self.keys_refused[why as usize].load(Ordering::Relaxed)))
    }

    /// A list of tools was shown to a client.
    pub(crate) fn listed(&self, list: &ShownList<'_>) {
        let shown = kitbag_budget::estimate_result_tokens(list.text);
        let (surface, whole) = match list.view {
            View::Merged(surface) if surface.is_frugal() => {
                let caller = &list.client.caller;
                let whole = self.prices.visible(list.policy, caller, list.catalog);
                (surface.as_str(), whole)
            }
            View::Merged(surface) => (surface.as_str(), shown),
            View::One(_) => (ONE_SERVER, shown),
        };
        lock(&self.tables).listed(
            &metered(list.client),
            surface,
            ListFigures::once(shown, whole),
        );
    }

    /// Counts an answer to a client by the tool of this name; the name is absent for a tool that no
    /// server has.
    pub(crate) fn answered(
        &self,
        client: &McpClient,
        name: Option<&str>,
        answer: &Result<Raw, Failure>,
    ) {
        let tokens = match answer {
            Ok(result) => kitbag_budget::estimate_result_tokens(result.get()),
            // The client does not read what comes then.
            Err(Failure::Cancelled) => return,
            Err(failure) => kitbag_budget::estimate_tokens(&failure.to_string()),
        };
        lock(&self.tables).answered(&metered(client), name.unwrap_or(UNKNOWN), tokens);
    }

    /// A program or a request in words came to an end.
    pub(crate) fn operated(&self, client: &McpClient, ended: &EndedOperation) {
        lock(&self.tables).operated(&client.caller.tenant, ended);
    }

    pub(crate) fn template_ran(&self, client: &McpClient, template: &str, ended: &EndedOperation) {
        lock(&self.tables).template_ran(&client.caller.tenant, template, ended);
    }

    pub(crate) fn happened(&self, client: &McpClient, event: OperationEvent) {
        lock(&self.tables).happened(&client.caller.tenant, event);
    }

    /// A request to a model was passed on.
    pub(crate) fn model_asked(&self, tenant: &Tenant, route: &'static str, figures: ModelFigures) {
        lock(&self.models).add(tenant, route, figures);
    }

    /// Returns the figures of requests to models, of every tenant.
    pub(crate) fn model_requests(&self) -> ModelRequestFigures {
        lock(&self.models).clone()
    }

    /// Returns a span for a call that begins; nothing if no collector hears of it.
    pub(crate) fn new_span(&self, parent: Option<TraceParent>) -> Option<TraceParent> {
        let _collector = self.telemetry.get()?;
        Some(new_span(parent))
    }

    /// Something a server or an API was asked to do came to an end.
    pub(crate) fn called(
        &self,
        catalog: &Catalog,
        observation: &Observation,
        span: Option<TraceParent>,
    ) {
        let name = label(catalog, &observation.capability);
        lock(&self.tables).called(observation, name);
        if let Some(telemetry) = self.telemetry.get() {
            telemetry.called(observation, name, span);
        }
    }

    /// Returns the figures that a caller may see: those of every tenant for an operator and for the
    /// person at this machine, else those of its own tenant, of tools that are `visible` to it.
    pub(crate) fn figures(
        &self,
        caller: &Caller,
        visible: impl Fn(&str, Option<&ServerName>) -> bool,
    ) -> UsageFigures {
        let tables = lock(&self.tables);
        if caller.sees_all_tenants() {
            return tables.clone();
        }
        tables.of(&caller.tenant, |name, tool| {
            visible(name, tool.server.as_ref())
        })
    }

    /// Begins to send everything to the collector of the configuration, if it names one.
    pub fn export(&self) -> Result<(), OtlpError> {
        if let Some(collector) = &self.settings.collector {
            let telemetry = OtlpExporter::start(collector, &self.tables, self.settings.per_tool)?;
            let _started_before = self.telemetry.set(telemetry);
        }
        Ok(())
    }

    /// Sends what is still to be sent.
    pub(crate) async fn close(self: Arc<Self>) {
        let _panicked = tokio::task::spawn_blocking(move || self.flush()).await;
    }

    fn flush(&self) {
        if let Some(telemetry) = self.telemetry.get() {
            telemetry.shutdown();
        }
    }
}

const ONE_SERVER: &str = "server";

impl KeyRefusal {
    pub(crate) const ALL: [Self; 4] = [Self::Missing, Self::Unknown, Self::Revoked, Self::Expired];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unknown => "unknown",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

fn metered(client: &McpClient) -> MeteredClient<'_> {
    MeteredClient {
        tenant: &client.caller.tenant,
        name: client.name.as_deref(),
        session: (client.era == Era::Legacy).then_some(&client.id),
    }
}

/// The name figures are kept under. Names of tools that exist are few; addresses and paths are not.
fn label<'a>(catalog: &'a Catalog, capability: &Capability) -> &'a str {
    match capability.kind {
        Kind::Tool => {
            let entry = catalog.tool_of(capability);
            entry.map_or(UNKNOWN, |entry| &entry.exposed)
        }
        Kind::Prompt => "(prompt)",
        Kind::Resource => "(resource)",
    }
}
