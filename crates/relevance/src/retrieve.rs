//! From an intent to the few tools worth showing.

use std::collections::BTreeSet;
use std::iter::once;
use std::sync::Arc;

use crate::confidence::Confidence;
use crate::index::Index;
use crate::indexed_tool::IndexedTool;
use crate::learned::Votes;
use crate::named::named;
use crate::nearest::need_no_estimate;
use crate::options::Options;
use crate::query::Query;
use crate::ranking::{Ranked, Ranking, Scored};
use crate::same_task::SameTask;
use crate::score::{Parts, Weights, shown};
use crate::steps::IntentStep;

/// For the intent and for each step, this many of the best by rough score are compared exactly.
/// Bytes tell cosines apart to two or three digits; ten times the most that is shown leaves room
/// for tools that they put too low.
const POOL: usize = 200;

#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    /// The caller bounds its length; words beyond [`MAX_TERMS`](crate::terms::MAX_TERMS) do not
    /// count.
    pub text: &'a str,
    /// The intent's embedding; without it, words alone decide.
    pub vector: Option<&'a [f32]>,
    /// The steps that [`split`](crate::steps::split) found in the text; may be empty.
    pub steps: &'a [IntentStep],
    /// The votes of past contexts like this one; without them the ranking is the static one.
    pub votes: Option<&'a Votes>,
}

/// The best tools, and how sure it is that they do what was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieved {
    /// Best first.
    pub candidates: Vec<Candidate>,
    /// Absent if the best tool has no vector to compare, because then nothing can be said.
    pub confidence: Option<Confidence>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub entry: Arc<IndexedTool>,
    /// Between 0 and 1, and never above the score of a better candidate. Where several tools share the
    /// place, it is that of the one that fits best.
    pub score: f32,
    pub parts: Parts,
    /// The plain cosine of intent and tool, where both have vectors.
    pub cosine: Option<f32>,
    /// Tools of other servers that do the same, likeliest first; they take no places of their own.
    pub copies: Vec<Arc<IndexedTool>>,
    /// The latency limit was checked against p95, because no p99 is known.
    pub latency_from_p95: bool,
}

/// Returns the best candidates. The same index and intent give the same answer.
///
/// `allowed` is asked with a document's position in the index and returns true if the caller may
/// see it.
pub fn retrieve(
    index: &Index,
    intent: Intent<'_>,
    options: &Options,
    allowed: impl Fn(usize) -> bool,
) -> Retrieved {
    let queries = Query::all(index, &intent.texts(options.weights), options.weights);
    let (whole, steps) = queries
        .split_first()
        .expect("the intent itself is the first query");
    let named = named(index, intent.text);
    let known = intent
        .voted_for(index)
        .chain(named.iter().flatten().copied());
    let admitted =
        |document: usize| options.admits(&index.documents[document].entry) && allowed(document);
    let without_estimates = need_no_estimate(index, whole, &admitted);
    let has_score = |document| !without_estimates || index.is_embedded(document);
    let pool = pool(&queries, known, admitted, has_score);
    let scored = pool.into_iter().map(|document| whole.scored(document));
    let same_task = SameTask::new(intent.text);
    let mut ranking = Ranking::new(index, scored.collect(), options.places(), same_task);
    ranking.add_priors(options.weights.priors);
    ranking.reward_steps(steps, options.weights.steps);
    ranking.add_votes(intent.votes);
    ranking.keep_place_for_new(intent.votes);
    ranking.keep_places(steps, intent.text);
    ranking.lift_named(&named);
    let best = ranking.best().into_iter();
    Retrieved {
        candidates: best
            .map(|ranked| candidate(&ranking, ranked, options))
            .collect(),
        confidence: ranking.confidence(),
    }
}

impl<'a> Intent<'a> {
    /// The texts to compare with the documents: the whole, then the steps if they count.
    fn texts(&self, weights: Weights) -> Vec<(&'a str, Option<&'a [f32]>)> {
        let steps = if weights.steps > 0.0 { self.steps } else { &[] };
        let steps = steps
            .iter()
            .map(|step| (step.text.as_str(), Some(&*step.vector)));
        once((self.text, self.vector)).chain(steps).collect()
    }

    /// The documents that past use speaks for. They are compared exactly even if neither words nor
    /// meaning would have them among the best.
    fn voted_for(&self, index: &Index) -> impl Iterator<Item = usize> {
        let tools = self.votes.into_iter().flat_map(Votes::favoured);
        tools.filter_map(|tool| index.position(tool))
    }
}

/// The documents that are compared exactly: the admitted ones that are best for any query, or that
/// past use speaks for, or that the intent names.
fn pool(
    queries: &[Query<'_>],
    known: impl Iterator<Item = usize>,
    admitted: impl Fn(usize) -> bool,
    has_score: impl Fn(usize) -> bool,
) -> BTreeSet<usize> {
    let is_found = |document| has_score(document) && admitted(document);
    let best = queries.iter().flat_map(|query| query.best(POOL, &is_found));
    best.chain(known.filter(|document| admitted(*document)))
        .collect()
}

fn candidate(ranking: &Ranking<'_>, ranked: Ranked, options: &Options) -> Candidate {
    let Scored { cosine, parts, .. } = ranking.scored(ranked.position);
    let entry = ranking.tool(ranked.position).clone();
    Candidate {
        score: shown(ranked.sum),
        parts,
        cosine,
        latency_from_p95: options.judges_by_p95(&entry),
        entry,
        copies: ranked
            .copies
            .into_iter()
            .map(|copy| ranking.tool(copy).clone())
            .collect(),
    }
}
