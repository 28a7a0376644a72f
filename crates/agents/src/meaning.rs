//! The last resort: what is meant, judged by vectors that somebody else makes.
//!
//! Which model makes them is not known here, and models differ in how alike they find anything. So
//! a likeness is measured by what the names have: to their own thing, and to the most alike other.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::names::{MOST, Match, Meant, Names};

/// Makes a vector of each text, or none at all where that fails.
pub type Embed =
    Arc<dyn Fn(Side, Vec<String>) -> BoxFuture<'static, Option<Vec<Vec<f32>>>> + Send + Sync>;

/// Some models want to be told which of the two a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Query,
    Document,
}

pub(crate) struct Meaning {
    embed: Embed,
    /// Made when first needed: most questions are answered by names.
    known: OnceCell<Known>,
}

struct Known {
    /// One for each way to say something, the names first, with the things it means.
    ways: Vec<(Vec<f32>, Vec<usize>)>,
    /// One for each thing, of all that is known about it.
    texts: Vec<Vec<f32>>,
    /// How alike a name is to what it means.
    kin: f32,
    /// How alike it is to the most alike of what it does not mean.
    strange: f32,
    /// Whoever is less alike than this to everything means none of it.
    foreign: f32,
}

/// From here on, and with such a lead, one thing is taken for what is meant.
const ENOUGH: f32 = 0.7;
const LEAD: f32 = 0.3;
/// What words in common add to a likeness; they are known to be there.
const WORDS: f32 = 1.0;

impl Meaning {
    pub(crate) fn new(embed: Embed) -> Self {
        Self {
            embed,
            known: OnceCell::new(),
        }
    }

    /// Nothing, if vectors cannot be had.
    pub(crate) async fn judge(
        &self,
        names: &Names,
        said: &str,
        by_words: &[(usize, f32)],
    ) -> Option<Match> {
        // Whoever makes vectors gives up on a question sooner than on all that is known.
        let asked = self.make(Side::Query, vec![said.to_owned()]).await?.pop()?;
        let known = self
            .known
            .get_or_try_init(|| self.learn(names))
            .await
            .ok()?;
        let alike = known.alike(&asked, None);
        let foreign = by_words.is_empty() && alike.iter().all(|it| *it < known.foreign);
        let mut ranked: Vec<(usize, f32)> = alike
            .into_iter()
            .map(|it| known.measure(it))
            .enumerate()
            .collect();
        for (at, score) in by_words {
            ranked[*at].1 += WORDS * score;
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let told = |(at, score): &(usize, f32)| (*at, confidence(*score));
        let (first, next) = (ranked.first()?, ranked.get(1)?);
        Some(if foreign {
            Match::Nothing {
                near: ranked.iter().map(|(at, _)| *at).take(MOST).collect(),
            }
        } else if first.1 >= ENOUGH && first.1 - next.1 >= LEAD {
            let (at, confidence) = told(first);
            Match::One(Meant {
                at,
                confidence,
                others: Vec::new(),
            })
        } else {
            Match::Several(ranked.iter().take(MOST).map(told).collect())
        })
    }

    async fn learn(&self, names: &Names) -> Result<Known, ()> {
        let mut vectors = self.make(Side::Document, names.texts()).await.ok_or(())?;
        let texts = vectors.split_off(names.ways().len());
        let ways = vectors
            .into_iter()
            .zip(names.ways().iter().map(|way| way.meant.clone()))
            .collect();
        Ok(Known::new(ways, texts))
    }

    async fn make(&self, side: Side, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let wanted = texts.len();
        (self.embed)(side, texts)
            .await
            .filter(|vectors| vectors.len() == wanted)
    }
}

impl Known {
    fn new(ways: Vec<(Vec<f32>, Vec<usize>)>, texts: Vec<Vec<f32>>) -> Self {
        let mut known = Self {
            ways,
            texts,
            kin: 0.0,
            strange: 0.0,
            foreign: 0.0,
        };
        let (mut kin, mut strange, mut usual) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..known.texts.len() {
            let mut alike = known.alike(&known.ways[at].0, Some(at));
            kin.push(alike.swap_remove(at));
            strange.push(alike.iter().copied().fold(-1.0, f32::max));
            usual.push(mean(&alike));
        }
        (known.kin, known.strange) = (mean(&kin), mean(&strange));
        known.foreign = f32::midpoint(known.strange, mean(&usual));
        known
    }

    /// 0 is what strangers have, 1 is what a name has to its own thing.
    fn measure(&self, alike: f32) -> f32 {
        (alike - self.strange) / (self.kin - self.strange).max(f32::EPSILON)
    }

    /// To each thing: half by the most alike way to say it, half by all that is known about it.
    fn alike(&self, asked: &[f32], without: Option<usize>) -> Vec<f32> {
        let texts: Vec<f32> = self.texts.iter().map(|text| cosine(asked, text)).collect();
        let mut best: Vec<Option<f32>> = vec![None; texts.len()];
        for (_, (way, meant)) in self
            .ways
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != without)
        {
            let score = cosine(asked, way);
            for at in meant {
                best[*at] = Some(best[*at].map_or(score, |it| it.max(score)));
            }
        }
        best.into_iter()
            .zip(texts)
            .map(|(way, text)| f32::midpoint(way.unwrap_or(text), text))
            .collect()
    }
}

/// How often such a score is right, as measured: four times in five where it is just enough.
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
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f32::EPSILON)
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
    use crate::names::Named;

    /// Ten things a letter apart, and vectors that count letters.
    async fn meant(said: &str, works: bool) -> Option<Match> {
        let named = ('a'..='j').map(|letter| Named {
            name: letter.to_string(),
            text: letter.to_string().repeat(3),
        });
        let names = Names::new(named.collect(), [], &[]);
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
        Meaning::new(embed).judge(&names, said, &[]).await
    }

    #[tokio::test]
    async fn what_stands_out_is_meant_and_what_is_like_nothing_is_not() {
        assert!(matches!(
            meant("ccc", true).await,
            Some(Match::One(Meant { at: 2, .. }))
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
    async fn without_vectors_nothing_is_judged() {
        assert_eq!(meant("ccc", false).await, None);
    }
}
