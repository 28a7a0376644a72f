//! Counts the tokens of lists, searches and calls, and the outcomes of calls. Tokens are estimates:
//! an exact count would take too long while a client waits.
//!
//! # Layout
//! - this file: one method for each event that is counted
//! - `catalog_estimates`: the tokens of the whole catalog for a caller
//!
//! The figures and their exporters are in `kitbag-telemetry`.

mod catalog_estimates;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_domain::{Caller, Capability, Kind, Observation, ServerName, Tenant, TraceParent};
use kitbag_wire::Raw;

use self::catalog_estimates::CatalogEstimates;
use crate::call::failure::Failure;
use crate::catalog::Catalog;
use crate::state::clock::now;
use crate::turn::client::McpClient;
use crate::turn::view::View;
use kitbag_domain::sync::lock;
use kitbag_policy::Policy;
use kitbag_telemetry::figures::{ListFigures, MeteredClient, UNKNOWN, UsageFigures};
use kitbag_telemetry::model_requests::{ModelFigures, ModelRequestFigures};
use kitbag_telemetry::operations::{CompletedOperation, OperationEvent};
use kitbag_telemetry::otlp::{OtlpError, OtlpExporter};
use kitbag_telemetry::span_ids::new_span;
use kitbag_wire::Era;

pub struct Meter {
    tables: Arc<Mutex<UsageFigures>>,
    estimates: CatalogEstimates,
    settings: kitbag_config::Telemetry,
    exporter: OnceLock<OtlpExporter>,
    models: Mutex<ModelRequestFigures>,
    keys_refused: [AtomicU64; KeyRejection::ALL.len()],
}

/// A list of tools that was returned to a client.
pub(crate) struct ShownList<'a> {
    pub(crate) client: &'a McpClient,
    pub(crate) view: &'a View,
    pub(crate) policy: &'a Policy,
    pub(crate) catalog: &'a Arc<Catalog>,
    pub(crate) text: &'a str,
}

/// The reason why a key was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRejection {
    Missing,
    Unknown,
    Revoked,
    Expired,
}

impl Meter {
    pub(crate) fn new(settings: kitbag_config::Telemetry) -> Self {
        Self {
            tables: Arc::default(),
            estimates: CatalogEstimates::default(),
            settings,
            exporter: OnceLock::new(),
            models: Mutex::default(),
            keys_refused: Default::default(),
        }
    }

    pub(crate) fn record_key_rejection(&self, why: KeyRejection) {
        self.keys_refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn key_rejections(&self) -> impl Iterator<Item = (KeyRejection, u64)> {
        KeyRejection::ALL
            .into_iter()
            .map(|why| (why, self.keys_refused[why as usize].load(Ordering::Relaxed)))
    }

    pub(crate) fn record_list(&self, list: &ShownList<'_>) {
        let shown = kitbag_budget::estimate_result_tokens(list.text);
        let (surface, whole) = match list.view {
            View::Merged(surface) if surface.truncates_answers() => {
                let caller = &list.client.caller;
                let whole =
                    self.estimates
                        .estimate_visible_tools(list.policy, caller, list.catalog);
                (surface.as_str(), whole)
            }
            View::Merged(surface) => (surface.as_str(), shown),
            View::Server(_) => (ONE_SERVER, shown),
        };
        let listed = ListFigures::for_list(shown, whole);
        let mut tables = lock(&self.tables);
        tables.record_list(&to_metered_client(list.client), surface, listed);
        tables.record_list_of_hour(&list.client.caller.tenant, now(), listed);
    }

    /// Counts an answer under the tool's name, which is absent for a tool that does not exist.
    pub(crate) fn record_answer(
        &self,
        client: &McpClient,
        name: Option<&str>,
        answer: &Result<Raw, Failure>,
    ) {
        let tokens = match answer {
            Ok(result) => kitbag_budget::estimate_result_tokens(result.get()),
            // The client does not read this answer.
            Err(Failure::Cancelled) => return,
            Err(failure) => kitbag_budget::estimate_tokens(&failure.to_string()),
        };
        lock(&self.tables).record_answer(
            &to_metered_client(client),
            name.unwrap_or(UNKNOWN),
            tokens,
        );
    }

    pub(crate) fn record_operation(&self, client: &McpClient, ended: &CompletedOperation) {
        lock(&self.tables).record_operation(&client.caller.tenant, ended);
    }

    pub(crate) fn record_template_run(
        &self,
        client: &McpClient,
        template: &str,
        ended: &CompletedOperation,
    ) {
        lock(&self.tables).record_template_run(&client.caller.tenant, template, ended);
    }

    pub(crate) fn record_event(&self, client: &McpClient, event: OperationEvent) {
        lock(&self.tables).record_event(&client.caller.tenant, event);
    }

    pub(crate) fn record_model_request(
        &self,
        tenant: &Tenant,
        route: &'static str,
        figures: ModelFigures,
    ) {
        lock(&self.models).add(tenant, route, figures);
    }

    /// Returns the figures of requests to models, of every tenant.
    pub(crate) fn model_requests(&self) -> ModelRequestFigures {
        lock(&self.models).clone()
    }

    /// Returns a span for a call that begins, or `None` without a collector.
    pub(crate) fn new_span(&self, parent: Option<TraceParent>) -> Option<TraceParent> {
        let _collector = self.exporter.get()?;
        Some(new_span(parent))
    }

    pub(crate) fn record_call(
        &self,
        catalog: &Catalog,
        observation: &Observation,
        span: Option<TraceParent>,
    ) {
        let name = figure_name(catalog, &observation.capability);
        lock(&self.tables).record_call(observation, name);
        if let Some(exporter) = self.exporter.get() {
            exporter.record_call(observation, name, span);
        }
    }

    /// Returns the figures that a caller may see: of every tenant for an operator or the local
    /// user, otherwise of its own tenant and of tools `visible` to it.
    pub(crate) fn figures_for(
        &self,
        caller: &Caller,
        visible: impl Fn(&str, Option<&ServerName>) -> bool,
    ) -> UsageFigures {
        let tables = lock(&self.tables);
        if caller.sees_all_tenants() {
            return tables.clone();
        }
        tables.for_tenant(&caller.tenant, |name, tool| {
            visible(name, tool.server.as_ref())
        })
    }

    /// Starts the export to the configured collector, if there is one.
    pub fn start_export(&self) -> Result<(), OtlpError> {
        if let Some(collector) = &self.settings.collector {
            let exporter = OtlpExporter::start(collector, &self.tables, self.settings.per_tool)?;
            let _started_before = self.exporter.set(exporter);
        }
        Ok(())
    }

    /// Sends the remaining figures and spans.
    pub(crate) async fn close(self: Arc<Self>) {
        let _panicked = tokio::task::spawn_blocking(move || self.shut_down_exporter()).await;
    }

    fn shut_down_exporter(&self) {
        if let Some(exporter) = self.exporter.get() {
            exporter.shutdown();
        }
    }
}

const ONE_SERVER: &str = "server";

impl KeyRejection {
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

fn to_metered_client(client: &McpClient) -> MeteredClient<'_> {
    MeteredClient {
        tenant: &client.caller.tenant,
        name: client.name.as_deref(),
        session: (client.era == Era::Legacy).then_some(&client.id),
    }
}

/// Returns the name under which a capability is counted. Prompts and resources share one name each,
/// because there may be any number of URIs.
fn figure_name<'a>(catalog: &'a Catalog, capability: &Capability) -> &'a str {
    match capability.kind {
        Kind::Tool => {
            let entry = catalog.find_tool(capability);
            entry.map_or(UNKNOWN, |entry| &entry.exposed)
        }
        Kind::Prompt => "(prompt)",
        Kind::Resource => "(resource)",
    }
}
