//! From an intent to the few capabilities worth showing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::entry::Entry;
use crate::index::Index;
use crate::options::{MAX_TOP_K, Options};
use crate::question::{Question, keep_best};
use crate::score::{Parts, step_gain};
use crate::steps::Step;

/// How many of the best by bytes are compared exactly, for the intent and for each step.
const POOL: usize = 200;
/// An intent longer than this is cut: nobody says what they want in so many words.
const MAX_INTENT: usize = 8_000;

#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    pub text: &'a str,
    /// The intent's embedding; without it, words alone decide.
    pub vector: Option<&'a [f32]>,
    /// What [`split`](crate::steps::split) makes of the text; may be empty.
    pub steps: &'a [Step],
}

#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub entry: Arc<Entry>,
    /// Between 0 and 1, and never above that of a better candidate: [`Parts::shown`].
    pub score: f32,
    pub parts: Parts,
    /// The plain cosine of intent and capability, where both have vectors.
    pub cosine: Option<f32>,
    /// The same tool on other servers, likeliest first; they take no places of their own.
    pub copies: Vec<Arc<Entry>>,
    /// The latency limit was checked against p95, because no p99 is known.
    pub latency_from_p95: bool,
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
    let steps = if options.weights.steps > 0.0 {
        intent.steps
    } else {
        &[]
    };
    let asked: Vec<(&str, Option<&[f32]>)> = std::iter::once((text, intent.vector))
        .chain(
            steps
                .iter()
                .map(|step| (step.text.as_str(), Some(&*step.vector))),
        )
        .collect();
    let questions = Question::all(index, &asked, options.weights);
    let (whole, steps) = questions
        .split_first()
        .expect("the intent itself is the first question");

    let admitted = |at: usize| options.admits(&index.documents[at].entry) && allowed(at);
    let pool: BTreeSet<usize> = questions
        .iter()
        .flat_map(|it| it.best(POOL, &admitted))
        .collect();
    let score = |at: usize| {
        let cosine = whole.cosine(at);
        Scored {
            at,
            cosine,
            parts: whole.parts(at, cosine),
        }
    };
    let mut scored: Vec<Scored> = pool.into_iter().map(score).collect();
    let places = options.top_k.min(MAX_TOP_K);
    reward(index, &mut scored, steps, options.weights.steps, places);

    let entry = |place: usize| index.documents[scored[place].at].entry.clone();
    let candidate = |Ranked { place, copies }: Ranked| {
        let Scored { cosine, parts, .. } = scored[place];
        let entry_of_best = entry(place);
        let latency_from_p95 = options.judges_by_p95(&entry_of_best);
        let copies = copies.into_iter().map(entry).collect();
        Candidate {
            score: parts.shown(),
            parts,
            cosine,
            copies,
            latency_from_p95,
            entry: entry_of_best,
        }
    };
    ranking(index, &scored, places)
        .into_iter()
        .map(candidate)
        .collect()
}

#[derive(Debug, Clone, Copy)]
struct Scored {
    at: usize,
    cosine: Option<f32>,
    parts: Parts,
}

/// One of the best, and its copies further down; all by their places among the scored.
struct Ranked {
    place: usize,
    copies: Vec<usize>,
}

/// The best, best first. A copy of one that is there already goes with it.
fn ranking(index: &Index, scored: &[Scored], places: usize) -> Vec<Ranked> {
    let twin = |place: usize| index.documents[scored[place].at].twin;
    let mut sums: Vec<_> = scored.iter().map(|it| it.parts.sum()).enumerate().collect();
    let all = sums.len();
    keep_best(&mut sums, all);
    let mut ranked: Vec<Ranked> = Vec::with_capacity(places);
    for (place, _) in sums {
        let is_copy = |it: &Ranked| twin(place).is_some() && twin(it.place) == twin(place);
        match ranked.iter().position(is_copy) {
            Some(first) => ranked[first].copies.push(place),
            None if ranked.len() < places => ranked.push(Ranked {
                place,
                copies: Vec::new(),
            }),
            None => {}
        }
    }
    ranked
}

/// Adds what the steps have to say: the best for a step gains the whole bonus, others less the
/// further behind they are. Half of the places are kept for the first few of each step, so that
/// no step goes without because the intent as a whole sounds more like another.
fn reward(index: &Index, scored: &mut [Scored], steps: &[Question<'_>], bonus: f32, places: usize) {
    if steps.is_empty() {
        return;
    }
    let kept_places = places / 2 / steps.len();
    let mut first_of_steps = Vec::new();
    for step in steps {
        let score = |it: &Scored| step.parts(it.at, step.cosine(it.at)).sum();
        let mut scores: Vec<_> = scored.iter().map(score).enumerate().collect();
        let best = scores.iter().map(|(_, score)| *score).fold(0.0, f32::max);
        for (place, score) in &scores {
            let parts = &mut scored[*place].parts;
            parts.steps = parts.steps.max(bonus * step_gain(score - best));
        }
        keep_best(&mut scores, kept_places);
        first_of_steps.extend(
            scores
                .into_iter()
                .enumerate()
                .map(|(rank, (place, _))| (place, rank)),
        );
    }
    let ranked = ranking(index, scored, places);
    let Some(last) = ranked.get(places.saturating_sub(1)) else {
        return;
    };
    let bar = scored[last.place].parts.sum();
    for (place, rank) in first_of_steps {
        let parts = &mut scored[place].parts;
        parts.steps += (bar + STEP_APART * (kept_places - rank) as f32 - parts.sum()).max(0.0);
    }
}

/// Lets the best of a step pass before its second best.
const STEP_APART: f32 = 1e-4;
