//! A tool's facts in the index.

use kitbag_domain::{ExposedName, Tenant, WriteClass};
use serde::{Deserialize, Serialize};

use crate::tool_kind::{ToolCategory, ToolComplexity};

/// One tool as it is stored, filtered and returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexedTool {
    pub tool_name: String,
    /// The MCP server or API that has the tool. Serialized under its former name, `provider`.
    #[serde(rename = "provider", alias = "server")]
    pub server: String,
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
    #[serde(default)]
    pub category: ToolCategory,
    #[serde(default)]
    pub complexity: ToolComplexity,
    pub group: Option<String>,
    /// The tenants that can see the tool; empty means all of them.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
}

impl IndexedTool {
    /// Returns the tool in about ten tokens, followed by the name of a template that calls it:
    /// `sentry.list_issues query/simple list_errors`.
    #[must_use]
    pub fn light_line(&self, code_template: Option<&str>) -> String {
        let kind = self.kind();
        let line = match ExposedName::split(&self.tool_name) {
            Some((server, tool)) => format!("{server}.{tool} {kind}"),
            None => format!("{} {kind}", self.tool_name),
        };
        match code_template {
            Some(template) => format!("{line} {template}"),
            None => line,
        }
    }

    /// Returns category and complexity: `query/simple`.
    #[must_use]
    pub fn kind(&self) -> String {
        format!("{}/{}", self.category.as_str(), self.complexity.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_light_line_says_server_tool_category_and_complexity() {
        let mut tool = IndexedTool {
            tool_name: "sentry__list_issues".to_owned(),
            category: ToolCategory::Query,
            ..IndexedTool::default()
        };
        assert_eq!(
            tool.light_line(Some("list_errors")),
            "sentry.list_issues query/simple list_errors"
        );
        tool.tool_name = "weather_api".to_owned();
        assert_eq!(tool.light_line(None), "weather_api query/simple");
    }
}
