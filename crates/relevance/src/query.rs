//! One text compared with every document: an intent, or one step of it.

use std::cmp::Ordering;

use crate::index::Index;
use crate::lexical::SharedWords;
use crate::ranking::Scored;
use crate::score::{Parts, Weights, expected_cosine};

pub(crate) struct Query<'a> {
    index: &'a Index,
    weights: Weights,
    words: SharedWords,
    vector: Option<&'a [f32]>,
    /// Nearly the cosine of every document; empty without a vector.
    rough: Vec<f32>,
}

impl<'a> Query<'a> {
    /// Compares all texts at once, because their vectors share one pass over the documents'.
    pub(crate) fn all(
        index: &'a Index,
        texts: &[(&str, Option<&'a [f32]>)],
        weights: Weights,
    ) -> Vec<Self> {
        let vectors = texts
            .iter()
            .map(|(_, vector)| usable(*vector, index, weights));
        let vectors: Vec<Option<&[f32]>> = vectors.collect();
        let known: Vec<&[f32]> = vectors.iter().copied().flatten().collect();
        let mut rough = index.dense.rough(&known).into_iter();
        texts
            .iter()
            .zip(vectors)
            .map(|((text, _), vector)| {
                let rough = vector.and_then(|_| rough.next()).unwrap_or_default();
                Self::new(index, index.lexical.shared(text), vector, rough, weights)
            })
            .collect()
    }

    fn new(
        index: &'a Index,
        words: SharedWords,
        vector: Option<&'a [f32]>,
        rough: Vec<f32>,
        weights: Weights,
    ) -> Self {
        Self {
            index,
            weights: weights.against(highest(&words.scores), highest(&rough)),
            words,
            vector,
            rough,
        }
    }

    /// Returns the best `count` documents that are admitted, as far as bytes can tell.
    pub(crate) fn best(&self, count: usize, admitted: &impl Fn(usize) -> bool) -> Vec<usize> {
        self.first_by(|document| self.rough_score(document), count, admitted)
    }

    /// Returns the best `count` documents that are admitted by their words alone.
    pub(crate) fn best_by_words(
        &self,
        count: usize,
        admitted: &impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        self.first_by(|document| self.words.scores[document], count, admitted)
    }

    fn first_by(
        &self,
        score: impl Fn(usize) -> f32,
        count: usize,
        admitted: &impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut kept: Vec<(usize, f32)> = Vec::with_capacity(2 * count);
        let mut bar = 0.0;
        for document in 0..self.index.len() {
            let score = score(document);
            // Asking if it is admitted costs more than the score did.
            if score > bar && admitted(document) {
                kept.push((document, score));
                // Sorting out once for each `count` new ones costs little for each of them.
                if kept.len() == 2 * count {
                    keep_best(&mut kept, count);
                    bar = kept[count - 1].1;
                }
            }
        }
        keep_best(&mut kept, count);
        kept.into_iter().map(|(document, _)| document).collect()
    }

    /// True if the text and some documents have vectors that can be compared.
    pub(crate) fn compares_meaning(&self) -> bool {
        self.vector.is_some()
    }

    fn rough_score(&self, document: usize) -> f32 {
        let cosine = self.rough.get(document).copied();
        let cosine = cosine.filter(|_| self.index.dense.has(document));
        self.parts(document, cosine).sum()
    }

    pub(crate) fn scored(&self, document: usize) -> Scored {
        let cosine = self
            .vector
            .and_then(|vector| self.index.cosine(vector, document));
        Scored {
            document,
            cosine,
            parts: self.parts(document, cosine),
        }
    }

    /// Returns the parts of a document's score, given its cosine. Without a cosine, because the
    /// vector is still being computed or the embedder fails, the words stand in for it: such a
    /// document competes with the cosine it may be expected to have.
    fn parts(&self, document: usize, cosine: Option<f32>) -> Parts {
        let Weights { lexical, dense, .. } = self.weights;
        let words = self.words.scores[document];
        match cosine {
            Some(cosine) => Parts {
                lexical: lexical * words,
                dense: dense * cosine,
                ..Parts::default()
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

/// The vector, if it counts and can be compared with those of the documents.
fn usable<'v>(vector: Option<&'v [f32]>, index: &Index, weights: Weights) -> Option<&'v [f32]> {
    vector.filter(|vector| weights.dense > 0.0 && index.dense.understands(vector))
}

fn highest(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(0.0, f32::max)
}

/// Keeps the best `count`, best first; equal ones in the order of their numbers.
pub(crate) fn keep_best(scored: &mut Vec<(usize, f32)>, count: usize) {
    if scored.len() > count {
        scored.select_nth_unstable_by(count, best_first);
        scored.truncate(count);
    }
    scored.sort_unstable_by(best_first);
}

fn best_first(a: &(usize, f32), b: &(usize, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}
