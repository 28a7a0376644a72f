//! Runs one request of a set, with and without the right tools.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kitbag_gateway::index::CapabilityIndex;
use kitbag_gateway::index::embedded_query::EmbeddedQuery;
use kitbag_relevance::metrics::JudgedQuery;
use kitbag_relevance::{
    Candidate, Confidence, Index, Options, Retrieved, find_equivalents, retrieve,
};
use serde_json::{Value, json};

use super::super::sets::{QueryLine, embed_request};
use super::Ranker;

/// Runs the requests of a set.
pub(super) struct RequestRunner<'a> {
    pub(super) ranker: Ranker,
    pub(super) index: &'a CapabilityIndex,
    pub(super) built: &'a Index,
}

/// A request of the set, and the tools found for it.
pub(super) struct RequestResult {
    pub(super) query: QueryLine,
    /// Ranks, best first, with the names of the tools that share one.
    slots: Vec<Vec<String>>,
    pub(super) confidence: Option<Confidence>,
    /// Confidence without the right tools and their equivalents.
    pub(super) without_tool: Option<Confidence>,
    /// Confidence without the right tools' servers as well.
    pub(super) without_server: Option<Confidence>,
    pub(super) took: Duration,
}

/// The number of tools that a model sees by default.
const SHOWN: usize = 5;

impl RequestRunner<'_> {
    pub(super) async fn run_request(&self, query: QueryLine) -> anyhow::Result<RequestResult> {
        let started = Instant::now();
        let intent = if self.ranker.has_vectors() {
            let corrected = self.index.correct_spelling(self.built, &query.query).await;
            embed_request(self.index, corrected.as_deref().unwrap_or(&query.query)).await?
        } else {
            EmbeddedQuery::without_vectors(query.query.clone())
        };
        let found = self.retrieve_without(&intent, &HashSet::new());
        let took = started.elapsed();
        let (tools, servers) = self.right_positions(&query);
        Ok(RequestResult {
            slots: found.candidates.iter().map(slot_names).collect(),
            confidence: found.confidence,
            without_tool: self.confidence_without(&intent, &tools),
            without_server: self.confidence_without(&intent, &servers),
            took,
            query,
        })
    }

    fn retrieve_without(&self, intent: &EmbeddedQuery, taken_out: &HashSet<usize>) -> Retrieved {
        let options = Options {
            weights: self.ranker.weights(),
            ..Options::default()
        };
        retrieve(self.built, intent.as_query(), &options, |at| {
            !taken_out.contains(&at)
        })
    }

    /// Returns `None` if there is nothing to remove.
    fn confidence_without(
        &self,
        intent: &EmbeddedQuery,
        taken_out: &HashSet<usize>,
    ) -> Option<Confidence> {
        let found = (!taken_out.is_empty()).then(|| self.retrieve_without(intent, taken_out));
        found?.confidence
    }

    /// Returns the positions of the right tools and their equivalents, and the positions of all tools of
    /// their servers; the latter are empty if the servers are unknown.
    fn right_positions(&self, query: &QueryLine) -> (HashSet<usize>, HashSet<usize>) {
        let right = query.relevant.iter();
        let tools: HashSet<usize> = right
            .flat_map(|it| find_equivalents(self.built, it))
            .collect();
        let right = query.relevant.iter().filter_map(|it| self.built.get(it));
        let servers: HashSet<&str> = right.map(|it| it.entry.server.as_str()).collect();
        if servers.contains("") {
            return (tools, HashSet::new());
        }
        let documents = self.built.documents().iter().enumerate();
        let of_servers = documents.filter(|(_, it)| servers.contains(it.entry.server.as_str()));
        let all = of_servers.map(|(at, _)| at).chain(tools.iter().copied());
        (tools.clone(), all.collect())
    }
}

/// Returns the tools that share the rank of a candidate.
fn slot_names(candidate: &Candidate) -> Vec<String> {
    let tools = std::iter::once(&candidate.entry).chain(&candidate.copies);
    tools.map(|it| it.tool_name.clone()).collect()
}

impl RequestResult {
    /// True if the first shown tool is right.
    pub(super) fn is_first_right(&self) -> bool {
        self.is_right_in_first(1)
    }

    /// True if a shown tool is right.
    pub(super) fn is_answered(&self) -> bool {
        self.is_right_in_first(SHOWN)
    }

    pub(super) fn has_answer(&self) -> bool {
        !self.query.relevant.is_empty()
    }

    /// Returns the request with its top three tools, if it has an answer and none of them is right.
    pub(super) fn describe_miss(&self) -> Option<Value> {
        /// A model often takes one of the top three.
        const FIRST: usize = 3;
        let first: Vec<&String> = self.slots.iter().take(FIRST).map(|it| &it[0]).collect();
        let query = &self.query;
        (!self.is_right_in_first(FIRST) && self.has_answer())
            .then(|| json!({ "query": query.query, "relevant": query.relevant, "found": first }))
    }

    pub(super) fn to_judged(&self) -> JudgedQuery<'_> {
        let ranks = self.slots.iter();
        JudgedQuery {
            ranked: ranks
                .map(|place| place.iter().map(String::as_str).collect())
                .collect(),
            relevant: self.query.relevant.iter().map(String::as_str).collect(),
        }
    }

    fn is_right_in_first(&self, count: usize) -> bool {
        let mut shown = self.slots.iter().take(count).flatten();
        shown.any(|name| self.query.relevant.contains(name))
    }
}
