//! The priors of tools, as printed on the command line.

use std::time::Duration;

use kitbag_config::{CatalogSettings, Config, CronSchedule};
use kitbag_domain::{Capability, ExposedName, Timestamp};
use kitbag_store::{AuditPage, AuditQuery, Error, Store};
use serde::Serialize;

use crate::catalog::tool_files::tool_files_server;
use crate::index::mirror_namespace;
use crate::index::priors::{MeasuredPriors, ToolOverrides, round_to_milliseconds};
use crate::learning::priors::overdue::overdue_age;
use crate::learning::priors::{StoredTrack, load_tracks};

/// The priors of one tool; values declared by the operator replace measured ones.
#[derive(Debug, Clone, Serialize)]
pub struct PriorsRow {
    pub tool_name: String,
    pub success_rate: Option<f64>,
    /// The weighted number of calls behind the measured rate; older calls count less.
    pub calls: f64,
    pub p50_latency_ms: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    pub p99_latency_ms: Option<f64>,
    pub estimated_cost_usd: Option<f64>,
    /// Average number of tokens of a result.
    pub tokens: Option<f64>,
    /// Seconds since the Unix epoch.
    pub last_updated_at: i64,
}

impl PriorsRow {
    /// True if this is the tool's name. For a tool from a tool file, the prefix is optional.
    pub fn has_name(&self, name: &str) -> bool {
        let prefix = format!("{}__", CatalogSettings::SERVER);
        name == self.tool_name || name.strip_prefix(&prefix) == Some(&self.tool_name)
    }
}

/// All priors of a configuration.
#[derive(Debug, Serialize)]
pub struct PriorsReport {
    /// Seconds since the Unix epoch; absent before the first run.
    pub priors_updated_at: Option<i64>,
    pub tools: Vec<PriorsRow>,
}

/// Reads the priors from the last run, sorted by name.
pub async fn read_report(
    config: &Config,
    store: &Store,
    now: Timestamp,
) -> Result<PriorsReport, Error> {
    let declared = DeclaredPriors {
        tools: &config.tools,
        usd_per_million_tokens: config.priors.usd_per_million_tokens,
    };
    let namespace = mirror_namespace(config, store, now).await?;
    read_namespace(declared, store, &namespace).await
}

/// The operator's values, which replace measured ones.
#[derive(Clone, Copy)]
pub(crate) struct DeclaredPriors<'a> {
    pub(crate) tools: &'a ToolOverrides,
    pub(crate) usd_per_million_tokens: Option<f64>,
}

/// Reads the priors of a configuration by the namespace of its mirror.
pub(crate) async fn read_namespace(
    declared: DeclaredPriors<'_>,
    store: &Store,
    namespace: &str,
) -> Result<PriorsReport, Error> {
    let measured = MeasuredPriors::load(store, namespace).await?;
    let tracks = load_tracks(store, namespace).await?;
    let mut tools: Vec<PriorsRow> = tracks
        .iter()
        .map(|(tool, stored)| priors_row(declared, &measured, tool, stored))
        .collect();
    tools.sort_by(|a, b| a.tool_name.cmp(&b.tool_name));
    let updated_at = store.priors_updated_at(namespace).await?;
    Ok(PriorsReport {
        priors_updated_at: updated_at.map(|at| at.0 / 1_000),
        tools,
    })
}

fn priors_row(
    declared: DeclaredPriors<'_>,
    measured: &MeasuredPriors,
    tool: &Capability,
    stored: &StoredTrack,
) -> PriorsRow {
    let tool_name = client_name(tool);
    let own = declared.tools.get(&tool_name);
    let priors = measured.priors_for(own, tool, declared.usd_per_million_tokens);
    PriorsRow {
        tool_name,
        success_rate: priors.success_rate,
        calls: round_to_tenth(stored.track.calls()),
        p50_latency_ms: stored.track.latency(0.5).map(round_to_milliseconds),
        p95_latency_ms: priors.p95_latency_ms,
        p99_latency_ms: priors.p99_latency_ms,
        estimated_cost_usd: priors.cost_usd,
        tokens: stored.track.tokens_per_answer().map(round_to_tenth),
        last_updated_at: stored.updated_at.0 / 1_000,
    }
}

/// Returns the name by which clients call the tool. Tools from tool files have no prefix.
fn client_name(tool: &Capability) -> String {
    match tool.server == tool_files_server() {
        true => tool.name.clone(),
        false => ExposedName::new(&tool.server, &tool.name).to_string(),
    }
}

fn round_to_tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Returns the age of priors that are overdue. If they were never computed, the age counts from the
/// first row of the audit.
pub async fn overdue_priors_age(
    config: &Config,
    store: &Store,
    now: Timestamp,
) -> Result<Option<Duration>, Error> {
    let namespace = mirror_namespace(config, store, now).await?;
    overdue_age_in(&namespace, config.priors.schedule.as_ref(), store, now).await
}

pub(super) async fn overdue_age_in(
    namespace: &str,
    schedule: Option<&CronSchedule>,
    store: &Store,
    now: Timestamp,
) -> Result<Option<Duration>, Error> {
    let last = store.priors_updated_at(namespace).await?;
    let started_at = first_audit_time(store).await?.unwrap_or(now);
    Ok(overdue_age(schedule, last, started_at, now))
}

async fn first_audit_time(store: &Store) -> Result<Option<Timestamp>, Error> {
    let query = AuditQuery {
        page: AuditPage::WrittenAfter { id: 0 },
        ..AuditQuery::newest(1)
    };
    Ok(store.read_audit(&query).await?.first().map(|row| row.at))
}
