//! Finds the few tools worth showing for a query.

use std::collections::BTreeSet;
use std::iter::once;
use std::sync::Arc;

use crate::confidence::Confidence;
use crate::equivalents::EquivalenceCheck;
use crate::index::Index;
use crate::indexed_tool::IndexedTool;
use crate::learning::Votes;
use crate::named_tools::find_named_tools;
use crate::nearest::can_skip_estimates;
use crate::options::Options;
use crate::query_matcher::QueryMatcher;
use crate::ranking::{RankedSlot, Ranking, ScoredDocument};
use crate::score::{Parts, Weights, to_displayed_score};
use crate::steps::QueryStep;

/// For the query and each step, this many documents are compared exactly. Quantized cosines have
/// two or three digits; ten times the largest answer makes up for tools that they rank too low.
const POOL: usize = 200;

#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Bounded by the caller; words beyond [`MAX_TERMS`](crate::terms::MAX_TERMS) are ignored.
    pub text: &'a str,
    /// The query's embedding; without it, only words count.
    pub vector: Option<&'a [f32]>,
    /// The steps that [`split_steps`](crate::steps::split_steps) found; may be empty.
    pub steps: &'a [QueryStep],
    /// The votes of similar past contexts.
    pub votes: Option<&'a Votes>,
}

/// The best tools and the confidence in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieved {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// Absent if the best tool has no vector to compare.
    pub confidence: Option<Confidence>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub entry: Arc<IndexedTool>,
    /// Between 0 and 1, in descending order. For a shared slot, the score of the best-fitting tool.
    pub score: f32,
    pub parts: Parts,
    /// The cosine of query and tool, if both have vectors.
    pub cosine: Option<f32>,
    /// Equivalent tools of other servers, likeliest first. They share this slot.
    pub copies: Vec<Arc<IndexedTool>>,
    /// The latency limit was checked against p95 because p99 is unknown.
    pub latency_from_p95: bool,
}

/// Returns the best candidates. Deterministic for the same index and query.
///
/// `allowed` receives a document's position in the index and returns true if the caller may see it.
pub fn retrieve(
    index: &Index,
    query: Query<'_>,
    options: &Options,
    allowed: impl Fn(usize) -> bool,
) -> Retrieved {
    QueryMatches::new(index, query, options.weights).rank(options, allowed)
}

/// A query compared with every document of an index. The comparison is the expensive part of a
/// search; its result can be ranked several times, for different filters.
#[derive(Debug)]
pub struct QueryMatches<'a> {
    index: &'a Index,
    query: Query<'a>,
    weights: Weights,
    /// The query, then its steps.
    matchers: Vec<QueryMatcher<'a>>,
}

impl<'a> QueryMatches<'a> {
    pub fn new(index: &'a Index, query: Query<'a>, weights: Weights) -> Self {
        let texts = query.texts_to_match(weights);
        Self {
            matchers: QueryMatcher::match_all(index, &texts, weights),
            index,
            query,
            weights,
        }
    }

    /// Returns the best of the documents that pass the filters of `options` and are `allowed`. The
    /// weights of `options` are ignored.
    pub fn rank(&self, options: &Options, allowed: impl Fn(usize) -> bool) -> Retrieved {
        let Self { index, query, .. } = *self;
        let (whole, steps) = self
            .matchers
            .split_first()
            .expect("the query itself is the first matcher");
        let named = find_named_tools(index, query.text);
        let known = query
            .favoured_documents(index)
            .chain(named.iter().flatten().copied());
        let admitted =
            |document: usize| options.admits(&index.documents[document].entry) && allowed(document);
        let without_estimates = can_skip_estimates(index, whole, &admitted);
        let has_score = |document| !without_estimates || index.is_embedded(document);
        let pool = select_pool(&self.matchers, known, admitted, has_score);
        let scored = pool
            .into_iter()
            .map(|document| whole.score_document(document));
        let equivalence = EquivalenceCheck::new(query.text);
        let mut ranking = Ranking::new(index, scored.collect(), options.max_slots(), equivalence);
        ranking.add_priors(self.weights.priors);
        ranking.reward_steps(steps, self.weights.steps);
        ranking.add_votes(query.votes);
        ranking.reserve_slot_for_new_tool(query.votes);
        ranking.reserve_slots(steps, query.text);
        ranking.lift_named(&named);
        let best = ranking.top_slots().into_iter();
        Retrieved {
            candidates: best
                .map(|ranked| to_candidate(&ranking, ranked, options))
                .collect(),
            confidence: ranking.confidence(),
        }
    }
}

impl<'a> Query<'a> {
    /// The texts to compare with the documents: the whole query, then its steps if they have
    /// weight.
    fn texts_to_match(&self, weights: Weights) -> Vec<(&'a str, Option<&'a [f32]>)> {
        let steps = if weights.steps > 0.0 { self.steps } else { &[] };
        let steps = steps
            .iter()
            .map(|step| (step.text.as_str(), Some(&*step.vector)));
        once((self.text, self.vector)).chain(steps).collect()
    }

    /// The documents with votes in their favour. They are compared exactly even if neither words
    /// nor meaning rank them among the best.
    fn favoured_documents(&self, index: &Index) -> impl Iterator<Item = usize> {
        let tools = self.votes.into_iter().flat_map(Votes::favoured_tools);
        tools.filter_map(|tool| index.position(tool))
    }
}

/// Returns the documents to compare exactly: the best admitted ones for any text, plus `known`
/// ones.
fn select_pool(
    queries: &[QueryMatcher<'_>],
    known: impl Iterator<Item = usize>,
    admitted: impl Fn(usize) -> bool,
    has_score: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let is_found = |document| has_score(document) && admitted(document);
    let best = queries
        .iter()
        .flat_map(|query| query.top_documents(POOL, &is_found));
    best.chain(known.filter(|document| admitted(*document)))
        .collect()
}

fn to_candidate(ranking: &Ranking<'_>, ranked: RankedSlot, options: &Options) -> Candidate {
    let ScoredDocument { cosine, parts, .. } = ranking.get(ranked.position);
    let entry = ranking.tool(ranked.position).clone();
    Candidate {
        score: to_displayed_score(ranked.sum),
        parts,
        cosine,
        latency_from_p95: options.uses_p95(&entry),
        entry,
        copies: ranked
            .copies
            .into_iter()
            .map(|copy| ranking.tool(copy).clone())
            .collect(),
    }
}
