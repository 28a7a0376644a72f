//! One request of a set, asked as it is and without the tools that would be right.

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

/// Asks the requests of a set.
pub(super) struct RequestRunner<'a> {
    pub(super) ranker: Ranker,
    pub(super) index: &'a CapabilityIndex,
    pub(super) built: &'a Index,
}

/// A request of the set, and the tools that were found for it.
pub(super) struct RequestResult {
    pub(super) query: QueryLine,
    /// The places, best first, with the names of the tools that share one.
    slots: Vec<Vec<String>>,
    pub(super) confidence: Option<Confidence>,
    /// The confidence in what is found without the right tools and all that do the same.
    pub(super) without_tool: Option<Confidence>,
    /// The confidence in what is found when their servers are gone as well.
    pub(super) without_server: Option<Confidence>,
    pub(super) took: Duration,
}

/// The number of tools that a model is shown unless it asks for more.
const SHOWN: usize = 5;

impl RequestRunner<'_> {
    pub(super) async fn run_request(&self, query: QueryLine) -> anyhow::Result<RequestResult> {
        let asked = Instant::now();
        let intent = if self.ranker.has_vectors() {
            let corrected = self.index.correct_spelling(self.built, &query.query).await;
            embed_request(self.index, corrected.as_deref().unwrap_or(&query.query)).await?
        } else {
            EmbeddedQuery::without_vectors(query.query.clone())
        };
        let found = self.retrieve_without(&intent, &HashSet::new());
        let took = asked.elapsed();
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
        retrieve(self.built, intent.as_intent(), &options, |at| {
            !taken_out.contains(&at)
        })
    }

    /// Returns nothing where there is nothing to take out.
    fn confidence_without(
        &self,
        intent: &EmbeddedQuery,
        taken_out: &HashSet<usize>,
    ) -> Option<Confidence> {
        let found = (!taken_out.is_empty()).then(|| self.retrieve_without(intent, taken_out));
        found?.confidence
    }

    /// Returns the positions of the right tools with all that do the same; and these with all tools of
    /// their servers, or nothing if the servers are not known.
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

/// The tools that share the place of a candidate.
fn slot_names(candidate: &Candidate) -> Vec<String> {
    let tools = std::iter::once(&candidate.entry).chain(&candidate.copies);
    tools.map(|it| it.tool_name.clone()).collect()
}

impl RequestResult {
    /// True if the first tool that a model would have been shown is right.
    pub(super) fn is_first_right(&self) -> bool {
        self.is_right_in_first(1)
    }

    /// True if a model would have been shown a right tool.
    pub(super) fn is_answered(&self) -> bool {
        self.is_right_in_first(SHOWN)
    }

    pub(super) fn has_answer(&self) -> bool {
        !self.query.relevant.is_empty()
    }

    /// Returns the request with the first three tools, if none of them is right and one would be.
    pub(super) fn describe_miss(&self) -> Option<Value> {
        /// A model often takes one of the first three.
        const FIRST: usize = 3;
        let first: Vec<&String> = self.slots.iter().take(FIRST).map(|it| &it[0]).collect();
        let query = &self.query;
        (!self.is_right_in_first(FIRST) && self.has_answer())
            .then(|| json!({ "query": query.query, "relevant": query.relevant, "found": first }))
    }

    pub(super) fn to_judged(&self) -> JudgedQuery<'_> {
        let places = self.slots.iter();
        JudgedQuery {
            ranked: places
                .map(|place| place.iter().map(String::as_str).collect())
                .collect(),
            relevant: self.query.relevant.iter().map(String::as_str).collect(),
        }
    }

    fn is_right_in_first(&self, places: usize) -> bool {
        let mut shown = self.slots.iter().take(places).flatten();
        shown.any(|name| self.query.relevant.contains(name))
    }
}
