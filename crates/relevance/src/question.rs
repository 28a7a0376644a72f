//! One text compared with every document: an intent, or one step of it.

use crate::index::Index;
use crate::lexical::Shared;
use crate::score::{Parts, Weights, expected_cosine};

pub(crate) struct Question<'a> {
    index: &'a Index,
    weights: Weights,
    words: Shared,
    vector: Option<&'a [f32]>,
    /// Nearly the cosine of every document; empty without a vector.
    rough: Vec<f32>,
}

impl<'a> Question<'a> {
    /// All texts at once, because their vectors share one pass over the documents'.
    pub(crate) fn all(
        index: &'a Index,
        asked: &[(&str, Option<&'a [f32]>)],
        weights: Weights,
    ) -> Vec<Self> {
        let usable = |vector: &&[f32]| weights.dense > 0.0 && index.dense.understands(vector);
        let vectors: Vec<Option<&[f32]>> = asked
            .iter()
            .map(|(_, vector)| vector.filter(usable))
            .collect();
        let mut rough = index
            .dense
            .rough(&vectors.iter().copied().flatten().collect::<Vec<_>>())
            .into_iter();
        let questions = asked.iter().zip(vectors).map(|((text, _), vector)| {
            let words = index.lexical.shared(text);
            let rough = vector.and_then(|_| rough.next()).unwrap_or_default();
            let highest = |scores: &[f32]| scores.iter().copied().fold(0.0, f32::max);
            let weights = weights.against(highest(&words.scores), highest(&rough));
            Self {
                index,
                weights,
                words,
                vector,
                rough,
            }
        });
        questions.collect()
    }

    /// The best `count` documents that are admitted, as far as bytes can tell.
    pub(crate) fn best(&self, count: usize, admitted: &impl Fn(usize) -> bool) -> Vec<usize> {
        let score = |at: usize| {
            let cosine = self
                .rough
                .get(at)
                .copied()
                .filter(|_| self.index.dense.has(at));
            self.parts(at, cosine).sum()
        };
        let mut kept: Vec<(usize, f32)> = Vec::with_capacity(2 * count);
        let mut bar = 0.0;
        for (at, score) in (0..self.index.len()).map(|at| (at, score(at))) {
            // Asking whether it is admitted costs more than the score did.
            if score > bar && admitted(at) {
                kept.push((at, score));
                if kept.len() == 2 * count {
                    keep_best(&mut kept, count);
                    bar = kept[count - 1].1;
                }
            }
        }
        keep_best(&mut kept, count);
        kept.into_iter().map(|(at, _)| at).collect()
    }

    pub(crate) fn cosine(&self, at: usize) -> Option<f32> {
        self.index.dense.cosine(self.vector?, at)
    }

    /// What the document's score is made of, given its cosine. Where there is none, because a
    /// vector is still being computed or nobody can compute it, the words stand in for it:
    /// such a document competes with what it may be expected to have.
    pub(crate) fn parts(&self, at: usize, cosine: Option<f32>) -> Parts {
        let Weights { lexical, dense, .. } = self.weights;
        let words = self.words.scores[at];
        match cosine {
            Some(cosine) => Parts {
                lexical: lexical * words,
                dense: dense * cosine,
                steps: 0.0,
            },
            None if lexical > 0.0 => {
                let weight = if dense > 0.0 { dense } else { 1.0 };
                let expected = expected_cosine(words / self.words.attainable);
                Parts {
                    lexical: lexical * words + weight * expected,
                    ..Parts::default()
                }
            }
            None => Parts::default(),
        }
    }
}

/// Keeps the best `count`, best first; equal ones in the order of their numbers.
pub(crate) fn keep_best(scored: &mut Vec<(usize, f32)>, count: usize) {
    let by_score = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if scored.len() > count {
        scored.select_nth_unstable_by(count, by_score);
        scored.truncate(count);
    }
    scored.sort_unstable_by(by_score);
}
