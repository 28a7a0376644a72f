//! The facts about a tool that the index keeps.

use kitbag_domain::{Tenant, WriteClass};
use serde::{Deserialize, Serialize};

/// One tool, as it is stored, filtered by and shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexedTool {
    pub tool_name: String,
    pub provider: String,
    pub description: String,
    pub scopes: Vec<String>,
    pub tags: Vec<String>,
    pub estimated_cost_usd: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    pub p99_latency_ms: Option<f64>,
    pub success_rate: Option<f64>,
    /// Seconds since the Unix epoch.
    pub last_updated_at: i64,
    pub write_class: WriteClass,
    pub group: Option<String>,
    /// The tenants that may see the tool; an empty list means all of them.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
}
