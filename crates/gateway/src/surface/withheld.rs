//! Counts the tools that a search would return if nothing withheld them: a filter of the request, a
//! rule, or a missing approval. Otherwise a model would conclude that there is no such tool.
//!
//! A count reveals hidden tools, so it includes only tools that the caller may know of: tools
//! withheld by the caller's own filters; unapproved tools, if rules would show them to the caller;
//! and tools denied by rules, only for the local user, who can read those rules. For a caller with
//! a key a denied tool does not exist.

use std::collections::BTreeMap;

use kitbag_domain::Caller;
use kitbag_relevance::{Candidate, Options};
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::index::{IndexSubject, SnapshotMatches};
use crate::state::gateway::Gateway;

/// The withheld tools, by name. The names are private: rules hide them.
#[derive(Debug, Clone, Default)]
pub(crate) struct WithheldTools(BTreeMap<String, WithheldReason>);

/// A withheld tool and the cause, for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldTool {
    pub tool_name: String,
    pub reason: WithheldReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    Filter,
    UnknownCost,
    Approval,
    Rule,
}

/// The number of tools that each cause withheld from an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WithheldCounts {
    #[serde(skip_serializing_if = "is_none")]
    filter: usize,
    #[serde(skip_serializing_if = "is_none")]
    unknown_cost: usize,
    #[serde(skip_serializing_if = "is_none")]
    approval: usize,
    #[serde(skip_serializing_if = "is_none")]
    rule: usize,
}

/// A completed search, and everything needed to rank its matches again without limits.
pub(crate) struct CompletedSearch<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) catalog: &'a Catalog,
    pub(crate) caller: &'a Caller,
    pub(crate) matches: &'a SnapshotMatches<'a>,
    pub(crate) options: &'a Options,
}

/// A tool whose score is below this fraction of the best is not relevant.
const MIN_RELATIVE_SCORE: f32 = 0.8;

impl WithheldTools {
    pub(crate) fn from_search(search: &CompletedSearch<'_>) -> Self {
        if !search.may_withhold() {
            return Self::default();
        }
        let all = search.without_limits();
        let least = all
            .first()
            .map_or(0.0, |best| best.score * MIN_RELATIVE_SCORE);
        let relevant = all.iter().filter(|it| it.score >= least);
        let withheld = relevant
            .filter_map(|it| Some((it.entry.tool_name.clone(), search.withheld_reason(it)?)));
        Self(withheld.collect())
    }

    /// Merges the tools of another search; duplicates count once.
    pub(crate) fn merge(mut self, other: &Self) -> Self {
        let others = other.0.iter();
        self.0
            .extend(others.map(|(name, reason)| (name.clone(), *reason)));
        self
    }

    pub(crate) fn counts(&self) -> WithheldCounts {
        WithheldCounts {
            filter: self.count(WithheldReason::Filter),
            unknown_cost: self.count(WithheldReason::UnknownCost),
            approval: self.count(WithheldReason::Approval),
            rule: self.count(WithheldReason::Rule),
        }
    }

    /// Returns the tools by name.
    pub(crate) fn tools(&self) -> Vec<WithheldTool> {
        let tools = self.0.iter().map(|(name, reason)| WithheldTool {
            tool_name: name.clone(),
            reason: *reason,
        });
        tools.collect()
    }

    fn count(&self, reason: WithheldReason) -> usize {
        self.0.values().filter(|it| **it == reason).count()
    }
}

impl WithheldReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "the filters leave it out",
            Self::UnknownCost => "its cost is not known",
            Self::Approval => "a person has not approved it yet",
            Self::Rule => "a rule keeps it from the tenant",
        }
    }
}

impl WithheldCounts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a line for each cause, for a model or a user.
    pub fn lines(&self) -> Vec<String> {
        let causes = [
            (self.filter, ["the filters leave", "out"]),
            (
                self.unknown_cost,
                ["the limit on cost leaves", "out: no cost is known"],
            ),
            (self.approval, ["a person has not approved", "yet"]),
            (self.rule, ["a rule keeps", "from you"]),
        ];
        let found_causes = causes.into_iter().filter(|(count, _)| *count > 0);
        found_causes
            .map(|(count, cause)| format_cause(count, cause))
            .collect()
    }
}

fn format_cause(count: usize, [cause, end]: [&str; 2]) -> String {
    match count {
        1 => format!("[1 more fits, but {cause} it {end}]"),
        _ => format!("[{count} more fit, but {cause} them {end}]"),
    }
}

impl CompletedSearch<'_> {
    /// Returns false for most searches, so that they rank once.
    fn may_withhold(&self) -> bool {
        self.options.is_filtered()
            || !self.catalog.unapproved_tools.is_empty()
            || self.caller.is_local() && self.gateway.policy.has_tool_rules(self.caller)
    }

    fn without_limits(&self) -> Vec<Candidate> {
        let options = self.options.without_filters();
        let all = self.matches.rank(&options, |it| self.may_be_counted(it));
        all.candidates
    }

    fn may_be_counted(&self, subject: &IndexSubject) -> bool {
        let policy = &self.gateway.policy;
        match subject {
            IndexSubject::Tool(entry) | IndexSubject::Unapproved(entry)
                if policy.is_visible(self.caller, &entry.capability) =>
            {
                true
            }
            IndexSubject::Tool(_) => {
                self.caller.is_local() && policy.is_server_visible(self.caller, subject.owner())
            }
            IndexSubject::Unapproved(_) => false,
            IndexSubject::Provider(name) => policy.may_reach(self.caller, name),
        }
    }

    /// Returns the reason why a tool is not in the answer; `None` if it could have been.
    fn withheld_reason(&self, found: &Candidate) -> Option<WithheldReason> {
        let name = &found.entry.tool_name;
        if self.catalog.unapproved.tool(name).is_some() {
            return Some(WithheldReason::Approval);
        }
        let entry = self.catalog.tool(name);
        if entry.is_some_and(|it| !self.gateway.policy.is_visible(self.caller, &it.capability)) {
            return Some(WithheldReason::Rule);
        }
        if self.options.admits(&found.entry) {
            return None;
        }
        Some(match self.options.lacks_known_cost(&found.entry) {
            true => WithheldReason::UnknownCost,
            false => WithheldReason::Filter,
        })
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_listed_with_its_count() {
        let counts = WithheldCounts {
            filter: 1,
            unknown_cost: 2,
            approval: 2,
            rule: 1,
        };
        assert_eq!(
            counts.lines(),
            [
                "[1 more fits, but the filters leave it out]",
                "[2 more fit, but the limit on cost leaves them out: no cost is known]",
                "[2 more fit, but a person has not approved them yet]",
                "[1 more fits, but a rule keeps it from you]",
            ]
        );
        assert!(WithheldCounts::default().lines().is_empty());
    }
}
