//! Which capabilities come into question, and how many are wanted.

use kitbag_domain::Tenant;
use kitbag_domain::WriteClass;
use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::score::Weights;

/// The most that is ever surfaced.
pub const MAX_TOP_K: usize = 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    pub top_k: usize,
    pub max_cost_usd: Option<f64>,
    pub max_latency_ms_p99: Option<f64>,
    pub tenant: Option<Tenant>,
    /// Any of these; none given means all.
    pub scopes: Vec<String>,
    pub providers: Vec<String>,
    pub tags: Vec<String>,
    pub write_classes: Vec<WriteClass>,
    /// Names of tools that are not wanted, since a context has them already.
    pub exclude: Vec<String>,
    pub weights: Weights,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top_k: MAX_TOP_K,
            max_cost_usd: None,
            max_latency_ms_p99: None,
            tenant: None,
            scopes: Vec::new(),
            providers: Vec::new(),
            tags: Vec::new(),
            write_classes: Vec::new(),
            exclude: Vec::new(),
            weights: Weights::LEARNED,
        }
    }
}

impl Options {
    /// Whether a capability comes into question at all. What is not known of it is not held
    /// against it.
    pub(crate) fn admits(&self, entry: &Entry) -> bool {
        let within = |limit: Option<f64>, value: Option<f64>| match (limit, value) {
            (Some(limit), Some(value)) => value <= limit,
            _ => true,
        };
        let any = |wanted: &[String], has: &[String]| {
            wanted.is_empty() || wanted.iter().any(|it| has.contains(it))
        };
        !self.exclude.contains(&entry.tool_name)
            && within(self.max_cost_usd, entry.estimated_cost_usd)
            && within(
                self.max_latency_ms_p99,
                entry.p99_latency_ms.or(entry.p95_latency_ms),
            )
            && (entry.tenants.is_empty()
                || self
                    .tenant
                    .as_ref()
                    .is_some_and(|tenant| entry.tenants.contains(tenant)))
            && any(&self.scopes, &entry.scopes)
            && any(&self.tags, &entry.tags)
            && (self.providers.is_empty() || self.providers.contains(&entry.provider))
            && (self.write_classes.is_empty() || self.write_classes.contains(&entry.write_class))
    }

    /// Whether the latency limit was checked against p95, because no p99 is known.
    pub(crate) fn judges_by_p95(&self, entry: &Entry) -> bool {
        self.max_latency_ms_p99.is_some()
            && entry.p99_latency_ms.is_none()
            && entry.p95_latency_ms.is_some()
    }
}
