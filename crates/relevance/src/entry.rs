//! What the index knows of a capability.

use kitbag_domain::{Tenant, WriteClass};
use serde::{Deserialize, Serialize};

/// One capability, as it is stored, filtered by and shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
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
    /// Who may see it; nobody in particular means everybody.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
}
