//! The last resort: what is meant, judged by vectors that somebody else makes.
//!
//! Which model makes them is not known here, and models differ in how alike they find anything. So
//! a likeness counts by how far it stands out from those of all other candidates, and by whether it
//! is more than any two candidates have.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::names::{MOST, Match, Meant, Names};

/// Makes a vector of each text, or none at all where that fails.
pub type Embed = Arc<dyn Fn(Side, Vec<String>) -> BoxFuture<'static, Option<Vec<Vec<f32>>>> + Send + Sync>;

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
    vectors: Vec<Vec<f32>>,
    /// How alike any two things are. Words that are less alike to all of them mean none.
    usual: f32,
}

/// How far the first must stand out, and how far before the next, to be taken for what is meant.
const CERTAIN: f32 = 3.0;
const LEAD: f32 = 0.8;
/// What words in common add to a likeness; they are known to be there.
const WORDS: f32 = 2.0;

impl Meaning {
    pub(crate) fn new(embed: Embed) -> Self {
        Self { embed, known: OnceCell::new() }
    }

    /// Nothing, if vectors cannot be had.
    pub(crate) async fn judge(&self, names: &Names, said: &str, by_words: &[(usize, f32)]) -> Option<Match> {
        let known = self.known.get_or_try_init(|| self.learn(names));
        let Known { vectors, usual } = known.await.ok()?;
        let asked = self.make(Side::Query, vec![said.to_owned()]).await?.pop()?;
        let alike: Vec<f32> = vectors.iter().map(|vector| cosine(&asked, vector)).collect();
        let mut ranked: Vec<(usize, f32)> = outstanding(&alike).into_iter().enumerate().collect();
        for (at, score) in by_words {
            ranked[*at].1 += WORDS * score;
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let told = |(at, _): &(usize, f32)| (*at, alike[*at].clamp(0.0, 1.0));
        let (first, next) = (ranked.first()?, ranked.get(1)?);
        Some(if alike[first.0] < *usual && by_words.is_empty() {
            Match::Nothing { near: ranked.iter().map(|(at, _)| *at).take(MOST).collect() }
        } else if first.1 >= CERTAIN && first.1 - next.1 >= LEAD {
            let (at, confidence) = told(first);
            Match::One(Meant { at, confidence, others: Vec::new() })
        } else {
            Match::Several(ranked.iter().take(MOST).map(told).collect())
        })
    }

    async fn learn(&self, names: &Names) -> Result<Known, ()> {
        let texts = names.all().iter().map(|it| it.text.clone()).collect();
        let vectors = self.make(Side::Document, texts).await.ok_or(())?;
        Ok(Known { usual: usual(&vectors), vectors })
    }

    async fn make(&self, side: Side, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let wanted = texts.len();
        (self.embed)(side, texts).await.filter(|vectors| vectors.len() == wanted)
    }
}

fn usual(vectors: &[Vec<f32>]) -> f32 {
    let pairs =
        vectors.iter().enumerate().flat_map(|(at, one)| vectors[..at].iter().map(move |other| (one, other)));
    let alike: Vec<f32> = pairs.map(|(one, other)| cosine(one, other)).collect();
    mean(&alike)
}

/// Each in standard deviations from the middle of all.
fn outstanding(alike: &[f32]) -> Vec<f32> {
    let middle = mean(alike);
    let variance = mean(&alike.iter().map(|it| (it - middle).powi(2)).collect::<Vec<_>>());
    let deviation = variance.sqrt().max(f32::EPSILON);
    alike.iter().map(|it| (it - middle) / deviation).collect()
}

#[expect(clippy::cast_precision_loss, reason = "there are some dozen candidates")]
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
        let named =
            ('a'..='j').map(|letter| Named { name: letter.to_string(), text: letter.to_string().repeat(3) });
        let names = Names::new(named.collect(), &[]);
        let vector = |text: &str| -> Vec<f32> {
            let times =
                |letter: char| text.chars().filter(|other| *other == letter).fold(0.0, |sum, _| sum + 1.0);
            ('a'..='z').map(|letter| times(letter) + if letter == 'x' { 0.5 } else { 0.0 }).collect()
        };
        let embed: Embed = Arc::new(move |_, texts| {
            let vectors = texts.iter().map(|text| vector(text)).collect();
            async move { works.then_some(vectors) }.boxed()
        });
        Meaning::new(embed).judge(&names, said, &[]).await
    }

    #[tokio::test]
    async fn what_stands_out_is_meant_and_what_is_like_nothing_is_not() {
        assert!(matches!(meant("ccc", true).await, Some(Match::One(Meant { at: 2, .. }))));
        assert!(matches!(meant("cd", true).await, Some(Match::Several(some)) if some.len() == MOST));
        assert!(matches!(meant("zzzzzzzz", true).await, Some(Match::Nothing { .. })));
    }

    #[tokio::test]
    async fn without_vectors_nothing_is_judged() {
        assert_eq!(meant("ccc", false).await, None);
    }
}
