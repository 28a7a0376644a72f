//! From an intent to the few capabilities worth showing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Tenant;

use crate::dense::keep_best;
use crate::entry::{Entry, WriteClass};
use crate::fuse::{Parts, Stretch, Weights};
use crate::index::Index;

/// The most that is ever surfaced.
pub const MAX_TOP_K: usize = 20;
/// How many of the best by words are considered beside the best by meaning.
const LEXICAL_POOL: usize = 200;
/// An intent longer than this is cut: nobody says what they want in so many words.
const MAX_INTENT: usize = 8_000;

#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    pub text: &'a str,
    /// The intent's embedding; without it, words alone decide.
    pub vector: Option<&'a [f32]>,
}

/// Which capabilities come into question, and how many are wanted.
#[derive(Debug, Clone)]
pub struct Options {
    pub top_k: usize,
    pub max_cost_usd: Option<f64>,
    pub max_latency_ms_p99: Option<f64>,
    pub tenant: Option<Tenant>,
    /// Any of these; none given means all.
    pub scopes: Vec<String>,
    pub providers: Vec<String>,
    pub tags: Vec<String>,
    pub write_classes: Vec<WriteClass>,
    pub weights: Weights,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub entry: Arc<Entry>,
    /// Between 0 and 1.
    pub score: f32,
    pub parts: Parts,
    /// The plain cosine of intent and capability, where both have vectors.
    pub cosine: Option<f32>,
    /// The latency limit was checked against p95, because no p99 is known.
    pub latency_from_p95: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top_k: MAX_TOP_K,
            max_cost_usd: None,
            max_latency_ms_p99: None,
            tenant: None,
            scopes: Vec::new(),
            providers: Vec::new(),
            tags: Vec::new(),
            write_classes: Vec::new(),
            weights: Weights::LEARNED,
        }
    }
}

/// The best candidates, best first. The same index and intent give the same answer.
///
/// `allowed` says of a document, by its place in the index, whether it may be shown at all.
pub fn retrieve(
    index: &Index,
    intent: Intent<'_>,
    options: &Options,
    allowed: impl Fn(usize) -> bool,
) -> Vec<Candidate> {
    let text = &intent.text[..intent.text.floor_char_boundary(MAX_INTENT)];
    let mask: Vec<bool> =
        index.documents.iter().enumerate().map(|(at, it)| options.admits(&it.entry) && allowed(at)).collect();
    let lexical = index.lexical.scores(text);
    let mut by_words: Vec<(usize, f32)> =
        lexical.iter().copied().enumerate().filter(|(at, score)| mask[*at] && *score > 0.0).collect();
    keep_best(&mut by_words, LEXICAL_POOL);
    let by_meaning = intent.vector.map(|vector| index.dense.best(vector, &mask)).unwrap_or_default();

    let stretch_lexical = Stretch::over(&falling(&by_words));
    let stretch_dense = Stretch::over(&falling(&by_meaning));
    let mut cosines: HashMap<usize, f32> = by_meaning.into_iter().collect();
    for (at, _) in by_words.iter().filter(|(at, _)| index.dense.has(*at)) {
        if let Some(vector) = intent.vector {
            cosines.entry(*at).or_insert_with(|| index.dense.cosine(vector, *at));
        }
    }
    let parts_of = |at: usize| Parts {
        lexical: options.weights.lexical * stretch_lexical.apply(lexical[at]),
        dense: options.weights.dense * cosines.get(&at).map_or(0.0, |cosine| stretch_dense.apply(*cosine)),
    };
    let pool: HashSet<usize> = by_words.iter().map(|(at, _)| *at).chain(cosines.keys().copied()).collect();
    let mut ranked: Vec<_> = pool.into_iter().map(|at| (at, parts_of(at).sum())).collect();
    keep_best(&mut ranked, options.top_k.min(MAX_TOP_K));
    let candidate = |(at, sum): (usize, f32)| {
        let entry = index.documents[at].entry.clone();
        Candidate {
            score: sum.clamp(0.0, 1.0),
            parts: parts_of(at),
            cosine: cosines.get(&at).copied(),
            latency_from_p95: options.max_latency_ms_p99.is_some()
                && entry.p99_latency_ms.is_none()
                && entry.p95_latency_ms.is_some(),
            entry,
        }
    };
    ranked.into_iter().map(candidate).collect()
}

impl Options {
    /// Whether a capability comes into question at all. What is not known of it is not held
    /// against it.
    fn admits(&self, entry: &Entry) -> bool {
        let within = |limit: Option<f64>, value: Option<f64>| match (limit, value) {
            (Some(limit), Some(value)) => value <= limit,
            _ => true,
        };
        let any =
            |wanted: &[String], has: &[String]| wanted.is_empty() || wanted.iter().any(|it| has.contains(it));
        within(self.max_cost_usd, entry.estimated_cost_usd)
            && within(self.max_latency_ms_p99, entry.p99_latency_ms.or(entry.p95_latency_ms))
            && (entry.tenants.is_empty()
                || self.tenant.as_ref().is_some_and(|tenant| entry.tenants.contains(tenant)))
            && any(&self.scopes, &entry.scopes)
            && any(&self.tags, &entry.tags)
            && (self.providers.is_empty() || self.providers.contains(&entry.provider))
            && (self.write_classes.is_empty() || self.write_classes.contains(&entry.write_class))
    }
}

fn falling(scored: &[(usize, f32)]) -> Vec<f32> {
    scored.iter().map(|(_, score)| *score).collect()
}
