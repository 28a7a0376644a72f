//! Search filters and the number of results.

use kitbag_domain::{Tenant, WriteClass};
use serde::{Deserialize, Serialize};

use crate::indexed_tool::IndexedTool;
use crate::score::Weights;

/// The most tools that one search returns. A longer list would again be too much for a model to
/// read.
pub const MAX_TOP_K: usize = 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    pub top_k: usize,
    pub max_cost_usd: Option<f64>,
    /// Lets tools of unknown cost pass `max_cost_usd`.
    pub include_unknown_cost: bool,
    pub max_latency_ms_p99: Option<f64>,
    pub tenant: Option<Tenant>,
    /// A tool passes with any of these; an empty list passes all. The same holds for the next three
    /// lists.
    pub scopes: Vec<String>,
    /// MCP servers and APIs.
    pub servers: Vec<String>,
    pub tags: Vec<String>,
    pub write_classes: Vec<WriteClass>,
    /// Tools to leave out because they are already in the model's context.
    pub exclude: Vec<String>,
    pub weights: Weights,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top_k: MAX_TOP_K,
            max_cost_usd: None,
            include_unknown_cost: false,
            max_latency_ms_p99: None,
            tenant: None,
            scopes: Vec::new(),
            servers: Vec::new(),
            tags: Vec::new(),
            write_classes: Vec::new(),
            exclude: Vec::new(),
            weights: Weights::LEARNED,
        }
    }
}

impl Options {
    pub(crate) fn max_slots(&self) -> usize {
        self.top_k.min(MAX_TOP_K)
    }

    /// Returns the same search without filters. Excluded tools stay excluded.
    pub fn without_filters(&self) -> Self {
        Self {
            top_k: self.top_k,
            tenant: self.tenant.clone(),
            exclude: self.exclude.clone(),
            weights: self.weights,
            ..Self::default()
        }
    }

    /// True if a filter may exclude suitable tools.
    pub fn is_filtered(&self) -> bool {
        let lists = [&self.scopes, &self.servers, &self.tags];
        self.max_cost_usd.is_some()
            || self.max_latency_ms_p99.is_some()
            || !self.write_classes.is_empty()
            || lists.iter().any(|list| !list.is_empty())
    }

    /// True if a tool passes all filters. An unknown cost fails a cost limit; an unknown latency
    /// passes.
    pub fn admits(&self, tool: &IndexedTool) -> bool {
        let latency = tool.p99_latency_ms.or(tool.p95_latency_ms);
        !self.exclude.contains(&tool.tool_name)
            && is_within(self.max_cost_usd, tool.estimated_cost_usd)
            && !self.lacks_known_cost(tool)
            && is_within(self.max_latency_ms_p99, latency)
            && self.can_see(tool)
            && has_any(&self.scopes, &tool.scopes)
            && has_any(&self.tags, &tool.tags)
            && (self.servers.is_empty() || self.servers.contains(&tool.server))
            && (self.write_classes.is_empty() || self.write_classes.contains(&tool.write_class))
    }

    /// True if there is a cost limit and the tool's cost is unknown.
    pub fn lacks_known_cost(&self, tool: &IndexedTool) -> bool {
        self.max_cost_usd.is_some()
            && tool.estimated_cost_usd.is_none()
            && !self.include_unknown_cost
    }

    fn can_see(&self, tool: &IndexedTool) -> bool {
        let tenant = self.tenant.as_ref();
        tool.tenants.is_empty() || tenant.is_some_and(|tenant| tool.tenants.contains(tenant))
    }

    /// True if the latency limit is checked against p95 because p99 is unknown.
    pub(crate) fn uses_p95(&self, tool: &IndexedTool) -> bool {
        self.max_latency_ms_p99.is_some()
            && tool.p99_latency_ms.is_none()
            && tool.p95_latency_ms.is_some()
    }
}

fn is_within(limit: Option<f64>, value: Option<f64>) -> bool {
    match (limit, value) {
        (Some(limit), Some(value)) => value <= limit,
        _ => true,
    }
}

fn has_any(wanted: &[String], present: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|it| present.contains(it))
}
