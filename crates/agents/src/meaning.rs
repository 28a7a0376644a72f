//! Finds the intended name by vectors, if its words are not enough. The caller's model computes the
//! vectors.
//!
//! Models differ in how similar they rate unrelated texts, so each similarity is scaled by two means
//! over all names: their similarity to their own thing, and to the most similar other thing.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::name_index::{GUESSED, MOST, Match, NameIndex, ResolvedName};

/// Computes a vector for each text, or none at all if that fails.
pub type Embed =
    Arc<dyn Fn(EmbedSide, Vec<String>) -> BoxFuture<'static, Option<Vec<Vec<f32>>>> + Send + Sync>;

/// Some models embed queries and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedSide {
    Query,
    Document,
}

pub(crate) struct Meaning {
    embed: Embed,
    /// Computed on first use: most questions are answered by names.
    known: OnceCell<KnownVectors>,
}

struct KnownVectors {
    /// One for each wording, names first, with the things it means.
    wordings: Vec<(Vec<f32>, Vec<usize>)>,
    /// One for each thing, from its description.
    texts: Vec<Vec<f32>>,
    /// The mean similarity of a name to its own thing.
    own: f32,
    /// The mean similarity of a name to the most similar other thing.
    nearest_other: f32,
    /// A text that is less similar than this to everything means none of it.
    foreign: f32,
}

/// The minimum score and lead of a thing that counts as meant. Both are measured on the suite
/// of questions in the tests.
const ENOUGH: f32 = 0.7;
const LEAD: f32 = 0.3;
/// The weight of the score by words, which is added to the score by vectors.
const WORDS: f32 = 1.0;

impl Meaning {
    pub(crate) fn new(embed: Embed) -> Self {
        Self {
            embed,
            known: OnceCell::new(),
        }
    }

    /// Returns nothing if there are no vectors.
    pub(crate) async fn resolve(
        &self,
        names: &NameIndex,
        query: &str,
        by_words: &[(usize, f32)],
    ) -> Option<Match> {
        // The question comes first: a busy model rejects it sooner than the whole library.
        let query = vec![query.to_owned()];
        let query_vector = self.embed_texts(EmbedSide::Query, query).await?.pop()?;
        let known = self
            .known
            .get_or_try_init(|| self.compute_vectors(names))
            .await;
        known.ok()?.resolve(&query_vector, by_words)
    }

    async fn compute_vectors(&self, names: &NameIndex) -> Result<KnownVectors, ()> {
        let vectors = self.embed_texts(EmbedSide::Document, names.texts()).await;
        let mut vectors = vectors.ok_or(())?;
        let texts = vectors.split_off(names.wordings().len());
        let meant = names.wordings().iter().map(|wording| wording.meant.clone());
        let wordings = vectors.into_iter().zip(meant).collect();
        Ok(KnownVectors::new(wordings, texts))
    }

    async fn embed_texts(&self, side: EmbedSide, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let wanted = texts.len();
        let vectors = (self.embed)(side, texts).await;
        vectors.filter(|vectors| vectors.len() == wanted)
    }
}

impl KnownVectors {
    fn new(wordings: Vec<(Vec<f32>, Vec<usize>)>, texts: Vec<Vec<f32>>) -> Self {
        let mut known = Self {
            wordings,
            texts,
            own: 0.0,
            nearest_other: 0.0,
            foreign: 0.0,
        };
        known.calibrate();
        known
    }

    /// Measures how similar the names are to their own things and to the others.
    fn calibrate(&mut self) {
        let (mut own, mut nearest, mut usual) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..self.texts.len() {
            let mut similar = self.similarities(&self.wordings[at].0, Some(at));
            own.push(similar.swap_remove(at));
            nearest.push(similar.iter().copied().fold(-1.0, f32::max));
            usual.push(mean(&similar));
        }
        (self.own, self.nearest_other) = (mean(&own), mean(&nearest));
        self.foreign = f32::midpoint(self.nearest_other, mean(&usual));
    }

    fn resolve(&self, query_vector: &[f32], by_words: &[(usize, f32)]) -> Option<Match> {
        let similar = self.similarities(query_vector, None);
        let is_foreign = by_words.is_empty() && similar.iter().all(|score| *score < self.foreign);
        let ranked = self.rank_terms(similar, by_words);
        let (first, next) = (*ranked.first()?, *ranked.get(1)?);
        let best = ranked.iter().take(MOST);
        Some(if is_foreign {
            Match::Nothing {
                near: best
                    .map(|(at, score)| (*at, GUESSED * confidence(*score)))
                    .collect(),
            }
        } else if first.1 >= ENOUGH && first.1 - next.1 >= LEAD {
            Match::One(ResolvedName {
                at: first.0,
                confidence: confidence(first.1),
                others: Vec::new(),
            })
        } else {
            Match::Several(best.map(|(at, score)| (*at, confidence(*score))).collect())
        })
    }

    fn rank_terms(&self, similar: Vec<f32>, by_words: &[(usize, f32)]) -> Vec<(usize, f32)> {
        let scores = similar.into_iter().map(|score| self.measure(score));
        let mut ranked: Vec<(usize, f32)> = scores.enumerate().collect();
        for (at, score) in by_words {
            ranked[*at].1 += WORDS * score;
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// Scales a similarity: 0 is a name's similarity to the nearest other thing, 1 its similarity
    /// to its own.
    fn measure(&self, similar: f32) -> f32 {
        (similar - self.nearest_other) / (self.own - self.nearest_other).max(f32::EPSILON)
    }

    /// Returns the similarity to each thing: half by its most similar wording, half by its
    /// description. Ignores the wording `without`.
    fn similarities(&self, query_vector: &[f32], without: Option<usize>) -> Vec<f32> {
        let texts: Vec<f32> = self
            .texts
            .iter()
            .map(|text| cosine(query_vector, text))
            .collect();
        let mut best: Vec<Option<f32>> = vec![None; texts.len()];
        for (index, (wording, meant)) in self.wordings.iter().enumerate() {
            if Some(index) == without {
                continue;
            }
            let score = cosine(query_vector, wording);
            for at in meant {
                best[*at] = Some(best[*at].map_or(score, |former| former.max(score)));
            }
        }
        let scores = best.into_iter().zip(texts);
        scores
            .map(|(wording, text)| f32::midpoint(wording.unwrap_or(text), text))
            .collect()
    }
}

/// The measured share of right answers with this score: four in five for a score just above the
/// bar. The two constants are fitted to that measurement.
fn confidence(score: f32) -> f32 {
    1.0 / (1.0 + (-3.5 * (score - 0.3)).exp())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are some dozen candidates"
)]
fn mean(figures: &[f32]) -> f32 {
    figures.iter().sum::<f32>() / figures.len().max(1) as f32
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f32::EPSILON)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl fmt::Debug for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meaning").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::name_index::NamedThing;

    /// Resolves a text among ten one-letter things, by vectors that count letters.
    async fn meant(query: &str, works: bool) -> Option<Match> {
        let named = ('a'..='j').map(|letter| NamedThing {
            name: letter.to_string(),
            text: letter.to_string().repeat(3),
        });
        let names = NameIndex::new(named.collect(), [], &[]);
        let vector = |text: &str| -> Vec<f32> {
            let times = |letter: char| {
                text.chars()
                    .filter(|other| *other == letter)
                    .fold(0.0, |sum, _| sum + 1.0)
            };
            ('a'..='z')
                .map(|letter| times(letter) + if letter == 'x' { 0.5 } else { 0.0 })
                .collect()
        };
        let embed: Embed = Arc::new(move |_, texts| {
            let vectors = texts.iter().map(|text| vector(text)).collect();
            async move { works.then_some(vectors) }.boxed()
        });
        Meaning::new(embed).resolve(&names, query, &[]).await
    }

    #[tokio::test]
    async fn a_distinctive_text_is_resolved_and_a_foreign_one_is_not() {
        assert!(matches!(
            meant("ccc", true).await,
            Some(Match::One(ResolvedName { at: 2, .. }))
        ));
        assert!(
            matches!(meant("cd", true).await, Some(Match::Several(some)) if some.len() == MOST)
        );
        assert!(matches!(
            meant("zzzzzzzz", true).await,
            Some(Match::Nothing { .. })
        ));
    }

    #[tokio::test]
    async fn without_vectors_no_name_is_resolved() {
        assert_eq!(meant("ccc", false).await, None);
    }
}
