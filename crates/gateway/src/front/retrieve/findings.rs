//! The tools for one intent or for several, which share the places that a context has.

use std::collections::HashSet;
use std::sync::Arc;

use kitbag_domain::Caller;
use kitbag_relevance::{Candidate, Options};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::find::{Findings, find};
use crate::gateway::Gateway;
use crate::withheld::Withheld;

pub(super) struct RetrieveFindings {
    pub(super) candidates: Vec<Candidate>,
    /// True if every intent has a tool that clearly does it; `None` where that cannot be told.
    pub(super) confident: Option<bool>,
    pub(super) degraded: Option<String>,
    pub(super) withheld: Withheld,
    /// One row for each intent, if there were several.
    pub(super) intents: Option<Vec<IntentRow>>,
    pub(super) catalog: Arc<Catalog>,
}

/// The tools of one intent, best first.
#[derive(Debug, Serialize)]
pub(super) struct IntentRow {
    intent: String,
    tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confident: Option<bool>,
}

impl RetrieveFindings {
    pub(super) fn one(findings: Findings) -> Self {
        let Findings {
            candidates,
            confident,
            degraded,
            catalog,
            withheld,
            votes: _,
            language: _,
        } = findings;
        Self {
            candidates,
            confident,
            degraded,
            withheld,
            intents: None,
            catalog,
        }
    }

    pub(super) async fn several(
        gateway: &Gateway,
        caller: &Caller,
        intents: &[String],
        options: &Options,
    ) -> Self {
        let mut each = Vec::new();
        for intent in intents {
            each.push(find(gateway, caller, intent, options).await);
        }
        let candidates = in_turns(
            each.iter().map(|it| it.candidates.as_slice()),
            options.top_k,
        );
        let kept: HashSet<_> = candidates
            .iter()
            .map(|it| it.entry.tool_name.as_str())
            .collect();
        let rows = intents
            .iter()
            .zip(&each)
            .map(|(intent, found)| IntentRow::of(intent, found, &kept));
        Self {
            intents: Some(rows.collect()),
            confident: each.iter().map(|it| it.confident).reduce(both).flatten(),
            degraded: each.iter().find_map(|it| it.degraded.clone()),
            withheld: each
                .iter()
                .fold(Withheld::default(), |all, it| all.and(&it.withheld)),
            catalog: latest_catalog(&each),
            candidates,
        }
    }
}

impl IntentRow {
    fn of(intent: &str, found: &Findings, kept: &HashSet<&str>) -> Self {
        let names = found.candidates.iter().map(|it| &it.entry.tool_name);
        Self {
            intent: intent.to_owned(),
            tools: names
                .filter(|name| kept.contains(name.as_str()))
                .cloned()
                .collect(),
            confident: found.confident,
        }
    }
}

/// The catalog of the last search, which is the newest.
fn latest_catalog(found: &[Findings]) -> Arc<Catalog> {
    found
        .last()
        .map_or_else(Arc::default, |last| last.catalog.clone())
}

/// The best of each, then the second of each, and so on: no intent is crowded out by the scores of
/// another, which mean something among its own tools only.
fn in_turns<'a>(lists: impl Iterator<Item = &'a [Candidate]>, most: usize) -> Vec<Candidate> {
    let lists: Vec<_> = lists.collect();
    let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let ranked = (0..longest).flat_map(|rank| lists.iter().filter_map(move |list| list.get(rank)));
    let mut seen = HashSet::new();
    ranked
        .filter(|it| seen.insert(&it.entry.tool_name))
        .take(most)
        .cloned()
        .collect()
}

fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    Some(one? && other?)
}
