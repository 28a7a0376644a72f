//! The filters of a search, and the number of tools it returns.

use kitbag_domain::{Tenant, WriteClass};
use serde::{Deserialize, Serialize};

use crate::indexed_tool::IndexedTool;
use crate::score::Weights;

/// The most tools that one search returns: more than that, and a model has too many to read again.
pub const MAX_TOP_K: usize = 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    pub top_k: usize,
    pub max_cost_usd: Option<f64>,
    /// Lets tools whose cost is not known pass `max_cost_usd`.
    pub include_unknown_cost: bool,
    pub max_latency_ms_p99: Option<f64>,
    pub tenant: Option<Tenant>,
    /// A tool passes with any of these; an empty list lets all pass. The same holds for the three
    /// lists below.
    pub scopes: Vec<String>,
    pub providers: Vec<String>,
    pub tags: Vec<String>,
    pub write_classes: Vec<WriteClass>,
    /// Names of tools to leave out, because the model's context has them already.
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
            providers: Vec::new(),
            tags: Vec::new(),
            write_classes: Vec::new(),
            exclude: Vec::new(),
            weights: Weights::LEARNED,
        }
    }
}

impl Options {
    pub(crate) fn places(&self) -> usize {
        self.top_k.min(MAX_TOP_K)
    }

    /// Returns the same search without its filters. What the model's context has already stays out.
    pub fn without_filters(&self) -> Self {
        Self {
            top_k: self.top_k,
            tenant: self.tenant.clone(),
            exclude: self.exclude.clone(),
            weights: self.weights,
            ..Self::default()
        }
    }

    /// True if a filter may leave out tools that would fit.
    pub fn is_filtered(&self) -> bool {
        let lists = [&self.scopes, &self.providers, &self.tags];
        self.max_cost_usd.is_some()
            || self.max_latency_ms_p99.is_some()
            || !self.write_classes.is_empty()
            || lists.iter().any(|list| !list.is_empty())
    }

    /// True if a tool passes all filters. A tool whose cost is not known does not count as cheap; an
    /// unknown latency does not count against it.
    pub fn admits(&self, tool: &IndexedTool) -> bool {
        let latency = tool.p99_latency_ms.or(tool.p95_latency_ms);
        !self.exclude.contains(&tool.tool_name)
            && is_within(self.max_cost_usd, tool.estimated_cost_usd)
            && !self.misses_cost(tool)
            && is_within(self.max_latency_ms_p99, latency)
            && self.may_see(tool)
            && has_any(&self.scopes, &tool.scopes)
            && has_any(&self.tags, &tool.tags)
            && (self.providers.is_empty() || self.providers.contains(&tool.provider))
            && (self.write_classes.is_empty() || self.write_classes.contains(&tool.write_class))
    }

    /// True if there is a limit on the cost, and nothing to hold against it.
    pub fn misses_cost(&self, tool: &IndexedTool) -> bool {
        self.max_cost_usd.is_some()
            && tool.estimated_cost_usd.is_none()
            && !self.include_unknown_cost
    }

    fn may_see(&self, tool: &IndexedTool) -> bool {
        let tenant = self.tenant.as_ref();
        tool.tenants.is_empty() || tenant.is_some_and(|tenant| tool.tenants.contains(tenant))
    }

    /// True if the latency limit was checked against p95, because no p99 is known.
    pub(crate) fn judges_by_p95(&self, tool: &IndexedTool) -> bool {
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
