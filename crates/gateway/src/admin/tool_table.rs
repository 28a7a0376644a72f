//! All tools in figures, for the person who looks for one among thousands: effect, tokens, use.
//!
//! The figures come from the definition and from the last computation of priors, so a table is built
//! once and used until one of the two changes.

use std::collections::HashMap;
use std::sync::Arc;

use kitbag_budget::estimate_tokens;
use kitbag_domain::{Caller, WriteClass};
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};

use crate::admin::offers::ToolRow;
use crate::admin::priors_report::{PriorsReport, PriorsRow};
use crate::catalog::{Catalog, CatalogEntry};
use crate::state::gateway::Gateway;

/// A tool with its effect, its cost and its use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolSummary {
    #[serde(flatten)]
    pub row: ToolRow,
    pub write_class: WriteClass,
    /// The estimated tokens of its definition.
    pub tokens: usize,
    /// The weighted number of calls behind its priors; older calls count less.
    pub calls: Option<f64>,
    pub success_rate: Option<f64>,
    /// The reason why clients do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
}

/// The tools that a local client sees, and those that wait for approval, by name.
#[derive(Debug)]
pub struct ToolTable {
    pub tools: Vec<ToolSummary>,
    /// Seconds since the Unix epoch; absent before the first run over the audit.
    pub priors_updated_at: Option<i64>,
    priors: HashMap<String, PriorsRow>,
    /// The catalog that the table was built from.
    catalog: Arc<Catalog>,
    /// The number of changes of the stored priors at that time.
    priors_changes: u64,
}

/// The order of a list of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolOrder {
    #[default]
    Name,
    Server,
    /// Most used first.
    Use,
    /// Most tokens first.
    Cost,
}

/// Selects tools that match every field.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Words that must occur in the name or the description.
    pub words: Vec<String>,
    pub server: Option<String>,
    pub write_class: Option<WriteClass>,
}

impl ToolTable {
    pub(crate) fn build(gateway: &Gateway, priors: PriorsReport, priors_changes: u64) -> Self {
        let catalog = gateway.catalog();
        let PriorsReport {
            priors_updated_at,
            tools,
        } = priors;
        let priors: HashMap<String, PriorsRow> = tools
            .into_iter()
            .map(|row| (row.tool_name.clone(), row))
            .collect();
        let is_visible = |entry: &&Arc<CatalogEntry>| {
            let policy = &gateway.policy;
            policy.is_visible(&Caller::local(), &entry.capability)
        };
        let approved = catalog.tools.iter().filter(is_visible);
        let approved = approved.map(|entry| summarize_tool(gateway, entry, &priors));
        let unapproved = catalog.unapproved_tools.iter().filter(is_visible);
        let unapproved = unapproved.map(|entry| {
            let reason = catalog.unapproved.reason(&entry.capability);
            ToolSummary {
                unapproved: reason.map(ToString::to_string),
                ..summarize_tool(gateway, entry, &priors)
            }
        });
        let mut tools: Vec<ToolSummary> = approved.chain(unapproved).collect();
        tools.sort_by(|a, b| a.row.name.cmp(&b.row.name));
        Self {
            tools,
            priors_updated_at,
            priors,
            catalog,
            priors_changes,
        }
    }

    /// True if building the table again would give the same result.
    pub(crate) fn is_current(&self, catalog: &Arc<Catalog>, priors_changes: u64) -> bool {
        Arc::ptr_eq(&self.catalog, catalog) && self.priors_changes == priors_changes
    }

    pub fn tool(&self, name: &str) -> Option<&ToolSummary> {
        self.tools.iter().find(|it| it.row.name == name)
    }

    /// Returns the priors of a tool, if it was called.
    pub fn priors(&self, name: &str) -> Option<&PriorsRow> {
        self.priors.get(name)
    }

    /// Returns the names of all servers with tools, in order.
    pub fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<&str> = self.tools.iter().map(|it| it.row.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// Returns the matching tools in this order.
    pub fn select(&self, filter: &ToolFilter, order: ToolOrder) -> Vec<&ToolSummary> {
        let mut selected: Vec<&ToolSummary> =
            self.tools.iter().filter(|it| filter.matches(it)).collect();
        order.sort(&mut selected);
        selected
    }
}

impl ToolOrder {
    pub const ALL: [Self; 4] = [Self::Name, Self::Server, Self::Use, Self::Cost];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Server => "server",
            Self::Use => "use",
            Self::Cost => "cost",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == text)
    }

    /// Sorts tools that are in the order of their names.
    pub fn sort(self, tools: &mut [&ToolSummary]) {
        match self {
            Self::Name => {}
            Self::Server => tools.sort_by(|a, b| a.row.server.cmp(&b.row.server)),
            Self::Use => tools.sort_by(|a, b| {
                let calls = |it: &ToolSummary| it.calls.unwrap_or_default();
                calls(b).total_cmp(&calls(a))
            }),
            Self::Cost => tools.sort_by_key(|it| std::cmp::Reverse(it.tokens)),
        }
    }
}

impl ToolFilter {
    /// Splits a text into the words to look for.
    pub fn words_of(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_lowercase).collect()
    }

    pub fn matches(&self, tool: &ToolSummary) -> bool {
        let is_of_server = |server: &String| server == tool.row.server.as_str();
        self.server.as_ref().is_none_or(is_of_server)
            && self
                .write_class
                .is_none_or(|class| class == tool.write_class)
            && self.matches_words(&tool.row)
    }

    fn matches_words(&self, row: &ToolRow) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let description = row.description.as_deref().unwrap_or_default();
        let text = format!("{} {description}", row.name).to_lowercase();
        self.words
            .iter()
            .all(|word| text.contains(&word.to_lowercase()))
    }
}

fn summarize_tool(
    gateway: &Gateway,
    entry: &CatalogEntry,
    priors: &HashMap<String, PriorsRow>,
) -> ToolSummary {
    let measured = priors.get(&entry.plain_name);
    let description = RawObject::peek_member(&entry.definition, "description");
    ToolSummary {
        row: ToolRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            tool: entry.capability.name.clone(),
            description: description.and_then(|it| serde_json::from_str(it.get()).ok()),
        },
        write_class: gateway.write_class(entry),
        tokens: estimate_tokens(entry.definition.get()),
        calls: measured.map(|it| it.calls),
        success_rate: measured.and_then(|it| it.success_rate),
        unapproved: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, tokens: usize, calls: Option<f64>) -> ToolSummary {
        let (server, own) = name.split_once("__").unwrap();
        ToolSummary {
            row: ToolRow {
                name: name.to_owned(),
                server: server.parse().unwrap(),
                tool: own.to_owned(),
                description: Some(format!("Does {own}.")),
            },
            write_class: WriteClass::Read,
            tokens,
            calls,
            success_rate: None,
            unapproved: None,
        }
    }

    #[test]
    fn tools_are_sorted_by_use_and_by_cost() {
        let tools = [
            tool("a__x", 3, None),
            tool("b__y", 9, Some(2.0)),
            tool("c__z", 5, Some(7.5)),
        ];
        let check = |order: ToolOrder, expected: &str| {
            let mut sorted: Vec<&ToolSummary> = tools.iter().collect();
            order.sort(&mut sorted);
            let names: Vec<_> = sorted.iter().map(|it| it.row.tool.as_str()).collect();
            assert_eq!(names.concat(), expected, "{order:?}");
        };
        check(ToolOrder::Name, "xyz");
        check(ToolOrder::Use, "zyx");
        check(ToolOrder::Cost, "yzx");
    }

    #[test]
    fn every_word_must_occur_in_name_or_description() {
        let check = |words: &str, expected: bool| {
            let words = ToolFilter::words_of(words);
            let filter = ToolFilter {
                words,
                ..ToolFilter::default()
            };
            assert_eq!(filter.matches(&tool("git__log", 1, None)), expected);
        };
        check("", true);
        check("GIT does", true);
        check("git push", false);
    }
}
