//! The tools for one or several queries, which share the slots of the result.

use std::collections::HashSet;
use std::sync::Arc;

use kitbag_domain::Caller;
use kitbag_relevance::{Candidate, Confidence, Options};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::catalog::pending_listings::PendingListings;
use crate::state::gateway::Gateway;
use crate::surface::find::{Findings, find_when_indexed};
use crate::surface::withheld::WithheldTools;

/// The settings of the search for each query.
pub(super) struct SearchSettings<'a> {
    pub(super) options: &'a Options,
    /// The least probability of a correct tool at which a query gets any tools.
    pub(super) min_confidence: f32,
}

impl SearchSettings<'_> {
    async fn find_tools(&self, gateway: &Gateway, caller: &Caller, intent: &str) -> Findings {
        let mut found = find_when_indexed(gateway, caller, intent, self.options).await;
        if found
            .confidence
            .is_some_and(|it| it.any < self.min_confidence)
        {
            found.candidates.clear();
        }
        found
    }
}

pub(super) struct RetrieveFindings {
    pub(super) candidates: Vec<Candidate>,
    /// The lowest confidence of all queries; `None` if it is unknown for any of them.
    pub(super) confidence: Option<Confidence>,
    pub(super) degraded: Option<String>,
    /// The language of a query that is not in English.
    pub(super) language: Option<&'static str>,
    /// The corrected query, if there is a single query and it had misspelled words.
    pub(super) corrected: Option<String>,
    pub(super) unfinished: PendingListings,
    pub(super) withheld: WithheldTools,
    /// One row per query, if there were several.
    pub(super) intents: Option<Vec<QueryRow>>,
    pub(super) catalog: Arc<Catalog>,
}

/// The tools for one query, best first.
#[derive(Debug, Serialize)]
pub(super) struct QueryRow {
    intent: String,
    tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confident: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<Confidence>,
}

impl RetrieveFindings {
    pub(super) async fn for_query(
        gateway: &Gateway,
        caller: &Caller,
        intent: &str,
        settings: &SearchSettings<'_>,
    ) -> Self {
        let Findings {
            candidates,
            confidence,
            degraded,
            catalog,
            withheld,
            votes: _,
            language,
            corrected,
            unfinished,
        } = settings.find_tools(gateway, caller, intent).await;
        Self {
            candidates,
            confidence,
            degraded,
            language,
            corrected,
            unfinished,
            withheld,
            intents: None,
            catalog,
        }
    }

    pub(super) async fn for_queries(
        gateway: &Gateway,
        caller: &Caller,
        intents: &[String],
        settings: &SearchSettings<'_>,
    ) -> Self {
        let mut each = Vec::new();
        for intent in intents {
            each.push(settings.find_tools(gateway, caller, intent).await);
        }
        let candidates = interleave(
            each.iter().map(|it| it.candidates.as_slice()),
            settings.options.top_k,
        );
        let included: HashSet<_> = candidates
            .iter()
            .map(|it| it.entry.tool_name.as_str())
            .collect();
        let rows = intents
            .iter()
            .zip(&each)
            .map(|(intent, found)| QueryRow::new(intent, found, &included));
        Self {
            intents: Some(rows.collect()),
            confidence: each
                .iter()
                .map(|it| it.confidence)
                .reduce(lower_confidence)
                .flatten(),
            degraded: each.iter().find_map(|it| it.degraded.clone()),
            language: each.iter().find_map(|it| it.language),
            corrected: None,
            unfinished: each
                .last()
                .map_or_else(PendingListings::default, |it| it.unfinished.clone()),
            withheld: each
                .iter()
                .fold(WithheldTools::default(), |all, it| all.merge(&it.withheld)),
            catalog: latest_catalog(&each),
            candidates,
        }
    }
}

impl QueryRow {
    fn new(intent: &str, found: &Findings, included: &HashSet<&str>) -> Self {
        let names = found.candidates.iter().map(|it| &it.entry.tool_name);
        Self {
            intent: intent.to_owned(),
            tools: names
                .filter(|name| included.contains(name.as_str()))
                .cloned()
                .collect(),
            confident: found.is_confident(),
            confidence: found.confidence,
        }
    }
}

/// Returns the catalog of the last search, which is the newest.
fn latest_catalog(found: &[Findings]) -> Arc<Catalog> {
    found
        .last()
        .map_or_else(Arc::default, |last| last.catalog.clone())
}

/// Takes the best tool of each, then the second of each, and so on, because scores are comparable
/// only within one query.
fn interleave<'a>(lists: impl Iterator<Item = &'a [Candidate]>, most: usize) -> Vec<Candidate> {
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

fn lower_confidence(one: Option<Confidence>, other: Option<Confidence>) -> Option<Confidence> {
    let (one, other) = (one?, other?);
    Some(if other.any < one.any { other } else { one })
}
