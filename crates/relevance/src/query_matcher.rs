//! Compares one text, a query or one of its steps, with every document.

use std::cmp::Ordering;

use crate::index::Index;
use crate::lexical::LexicalScores;
use crate::ranking::ScoredDocument;
use crate::score::{Parts, Weights, expected_cosine};

#[derive(Debug)]
pub(crate) struct QueryMatcher<'a> {
    index: &'a Index,
    weights: Weights,
    words: LexicalScores,
    vector: Option<&'a [f32]>,
    /// The approximate cosine of every document; empty without a vector.
    rough: Vec<f32>,
}

impl<'a> QueryMatcher<'a> {
    /// Compares all texts in one pass over the documents' vectors.
    pub(crate) fn match_all(
        index: &'a Index,
        texts: &[(&str, Option<&'a [f32]>)],
        weights: Weights,
    ) -> Vec<Self> {
        let vectors = texts
            .iter()
            .map(|(_, vector)| comparable_vector(*vector, index, weights));
        let vectors: Vec<Option<&[f32]>> = vectors.collect();
        let known: Vec<&[f32]> = vectors.iter().copied().flatten().collect();
        let mut rough = index.dense.rough_cosines(&known).into_iter();
        texts
            .iter()
            .zip(vectors)
            .map(|((text, _), vector)| {
                let rough = vector.and_then(|_| rough.next()).unwrap_or_default();
                Self::new(
                    index,
                    index.lexical.score_text(text),
                    vector,
                    rough,
                    weights,
                )
            })
            .collect()
    }

    fn new(
        index: &'a Index,
        words: LexicalScores,
        vector: Option<&'a [f32]>,
        rough: Vec<f32>,
        weights: Weights,
    ) -> Self {
        Self {
            index,
            weights: weights.scale_to_best(max_score(&words.scores), max_score(&rough)),
            words,
            vector,
            rough,
        }
    }

    /// Returns the best `count` admitted documents by quantized scores.
    pub(crate) fn top_documents(
        &self,
        count: usize,
        admitted: &impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        self.select_top(|document| self.rough_score(document), count, admitted)
    }

    /// Returns the best `count` admitted documents by words only.
    pub(crate) fn top_documents_by_words(
        &self,
        count: usize,
        admitted: &impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        self.select_top(|document| self.words.scores[document], count, admitted)
    }

    fn select_top(
        &self,
        score: impl Fn(usize) -> f32,
        count: usize,
        admitted: &impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut kept: Vec<(usize, f32)> = Vec::with_capacity(2 * count);
        let mut bar = 0.0;
        for document in 0..self.index.len() {
            let score = score(document);
            // The check costs more than the score.
            if score > bar && admitted(document) {
                kept.push((document, score));
                // Pruning once per `count` additions is cheap.
                if kept.len() == 2 * count {
                    keep_best(&mut kept, count);
                    bar = kept[count - 1].1;
                }
            }
        }
        keep_best(&mut kept, count);
        kept.into_iter().map(|(document, _)| document).collect()
    }

    /// True if the text and some documents have comparable vectors.
    pub(crate) fn compares_meaning(&self) -> bool {
        self.vector.is_some()
    }

    fn rough_score(&self, document: usize) -> f32 {
        let cosine = self.rough.get(document).copied();
        let cosine = cosine.filter(|_| self.index.dense.has_vector(document));
        self.score_parts(document, cosine).sum()
    }

    pub(crate) fn score_document(&self, document: usize) -> ScoredDocument {
        let cosine = self
            .vector
            .and_then(|vector| self.index.cosine(vector, document));
        ScoredDocument {
            document,
            cosine,
            parts: self.score_parts(document, cosine),
        }
    }

    /// Returns the parts of a document's score. Without a cosine (the vector is still being
    /// computed, or the embedder fails), it is estimated from the shared words.
    fn score_parts(&self, document: usize, cosine: Option<f32>) -> Parts {
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

/// Returns the vector if it has weight and is comparable with the documents' vectors.
fn comparable_vector<'v>(
    vector: Option<&'v [f32]>,
    index: &Index,
    weights: Weights,
) -> Option<&'v [f32]> {
    vector.filter(|vector| weights.dense > 0.0 && index.dense.can_compare(vector))
}

fn max_score(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(0.0, f32::max)
}

/// Keeps the best `count` in order; equal scores keep the order of their positions.
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
