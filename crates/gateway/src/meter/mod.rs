//! What lists, searches and calls cost the models behind them, and how calls end. Tokens are
//! estimates here: counting them exactly takes too long while somebody waits.
//!
//! # Layout
//! - this file: the moments at which something is counted
//! - `tables`: the figures, by tenant, tool and client, and how many of them are kept
//! - `prices`: what the whole catalog would have cost a caller
//! - [`report`]: the same counted exactly, for `kitbag tokens`
//! - `process`: what the operating system says of this process
//! - `otlp`: the figures, and a span for each call, to a collector of OpenTelemetry

mod otlp;
mod prices;
pub(crate) mod process;
pub mod report;
mod tables;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_domain::{Caller, Capability, ExposedName, Kind, Observation};
use kitbag_wire::Raw;

use self::otlp::Telemetry;
use self::prices::Prices;
pub(crate) use self::process::Process;
use self::tables::UNKNOWN;
pub(crate) use self::tables::{BUCKETS, Listed, Published, Tables};
use crate::catalog::{Catalog, Entry};
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::surface::tools::AlwaysOn;
use crate::turn::{Turn, View};
use kitbag_domain::sync::lock;

pub(crate) struct Meter {
    tables: Arc<Mutex<Tables>>,
    prices: Prices,
    settings: kitbag_config::Telemetry,
    telemetry: OnceLock<Telemetry>,
    keys_refused: [AtomicU64; KeyRefusal::ALL.len()],
}

/// Why somebody was not let in.
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
            keys_refused: Default::default(),
        }
    }

    pub(crate) fn key_refused(&self, why: KeyRefusal) {
        self.keys_refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn keys_refused(&self) -> impl Iterator<Item = (KeyRefusal, u64)> {
        let count = |why: KeyRefusal| self.keys_refused[why as usize].load(Ordering::Relaxed);
        KeyRefusal::ALL
            .into_iter()
            .map(move |why| (why, count(why)))
    }

    /// A list of tools was shown to a client.
    pub(crate) fn listed(&self, turn: &Turn, list: &Raw) {
        let shown = kitbag_budget::price(list.get());
        let (surface, catalog) = match &turn.view {
            View::Merged(surface) if surface.is_frugal() => {
                (surface.as_str(), self.prices.visible(turn))
            }
            View::Merged(surface) => (surface.as_str(), shown),
            View::One(_) => (ONE_SERVER, shown),
        };
        lock(&self.tables).listed(&turn.client, surface, Listed::once(shown, catalog));
    }

    /// A client was answered by one of our own tools, or by the tool of this exposed name.
    pub(crate) fn answered(&self, turn: &Turn, name: &str, answer: &Result<Raw, Failure>) {
        let tokens = match answer {
            Ok(result) => kitbag_budget::price(result.get()),
            // Nobody reads what comes then.
            Err(Failure::Cancelled) => return,
            Err(failure) => kitbag_budget::estimate(&failure.to_string()),
        };
        let known = AlwaysOn::named(name).is_some() || turn.catalog.tool(name).is_some();
        lock(&self.tables).answered(&turn.client, if known { name } else { UNKNOWN }, tokens);
    }

    /// Something a server or an API was asked to do came to an end.
    pub(crate) fn called(&self, turn: &Turn, observation: &Observation) {
        let name = label(&turn.catalog, &observation.capability);
        lock(&self.tables).called(observation, name);
        if let Some(telemetry) = self.telemetry.get() {
            telemetry.called(observation, name);
        }
    }

    /// The figures this caller may see: of every tenant for an operator and where nobody needs a
    /// key, else of its own.
    pub(crate) fn figures(&self, gateway: &Gateway, caller: &Caller) -> Tables {
        let catalog = gateway.catalog();
        let visible = |name: &str, tool: &tables::Tool| match (catalog.tool(name), &tool.server) {
            (Some(entry), _) => gateway.policy.visible(caller, &entry.capability),
            (None, Some(server)) => gateway.server_visible(caller, server),
            (None, None) => true,
        };
        let tables = lock(&self.tables);
        if caller.sees_all_tenants() {
            tables.clone()
        } else {
            tables.of(&caller.tenant, visible)
        }
    }

    /// Begins to send everything to the collector of the configuration, if it names one.
    pub(crate) fn export(&self) -> anyhow::Result<()> {
        if let Some(collector) = &self.settings.collector {
            let telemetry = Telemetry::start(collector, &self.tables, self.settings.per_tool)?;
            let _started_before = self.telemetry.set(telemetry);
        }
        Ok(())
    }

    /// Sends what is still to be sent.
    pub(crate) async fn close(gateway: Arc<Gateway>) {
        let flush = move || {
            if let Some(telemetry) = gateway.services.meter.telemetry.get() {
                telemetry.shutdown();
            }
        };
        let _panicked = tokio::task::spawn_blocking(flush).await;
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

/// The name figures are kept under. Names of tools that exist are few; addresses and paths are not.
fn label<'a>(catalog: &'a Catalog, capability: &Capability) -> &'a str {
    match capability.kind {
        Kind::Tool => exposed(catalog, capability).map_or(UNKNOWN, |entry| &entry.exposed),
        Kind::Prompt => "(prompt)",
        Kind::Resource => "(resource)",
    }
}

fn exposed<'a>(catalog: &'a Catalog, capability: &Capability) -> Option<&'a Entry> {
    let usual = ExposedName::new(&capability.server, &capability.name);
    let usual = catalog
        .tool(usual.as_str())
        .filter(|entry| entry.capability == *capability);
    usual.or_else(|| {
        catalog
            .tools
            .iter()
            .find(|entry| entry.capability == *capability)
    })
}
