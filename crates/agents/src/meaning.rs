//! The last resort: what is meant, judged by vectors that somebody else makes.
//!
//! Which model makes them is not known here, and models differ in how alike they find anything. So
//! a likeness counts by how far it stands out from those of all other candidates.

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
    vectors: OnceCell<Vec<Vec<f32>>>,
}

/// How far the first must stand out to be worth showing, and to be taken for what is meant.
const NOTABLE: f32 = 2.2;
const CERTAIN: f32 = 3.0;
const LEAD: f32 = 0.8;
/// What words in common add to a likeness; they are known to be there.
const WORDS: f32 = 2.0;

impl Meaning {
    pub(crate) fn new(embed: Embed) -> Self {
        Self { embed, vectors: OnceCell::new() }
    }

    /// Nothing, if vectors cannot be had.
    pub(crate) async fn judge(&self, names: &Names, said: &str, by_words: &[(usize, f32)]) -> Option<Match> {
        let texts = || names.all().iter().map(|it| it.text.clone()).collect();
        let vectors =
            self.vectors.get_or_try_init(|| async { self.make(Side::Document, texts()).await.ok_or(()) });
        let vectors = vectors.await.ok()?;
        let asked = self.make(Side::Query, vec![said.to_owned()]).await?.pop()?;
        let alike: Vec<f32> = vectors.iter().map(|vector| cosine(&asked, vector)).collect();
        let mut ranked: Vec<(usize, f32)> = outstanding(&alike).into_iter().enumerate().collect();
        for (at, score) in by_words {
            ranked[*at].1 += WORDS * score;
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let told = |(at, _): &(usize, f32)| (*at, alike[*at].clamp(0.0, 1.0));
        let (first, next) = (ranked.first()?, ranked.get(1)?);
        Some(if first.1 < NOTABLE && by_words.is_empty() {
            Match::Nothing { near: ranked.iter().map(|(at, _)| *at).take(MOST).collect() }
        } else if first.1 >= CERTAIN && first.1 - next.1 >= LEAD {
            let (at, confidence) = told(first);
            Match::One(Meant { at, confidence, others: Vec::new() })
        } else {
            Match::Several(ranked.iter().take(MOST).map(told).collect())
        })
    }

    async fn make(&self, side: Side, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let wanted = texts.len();
        (self.embed)(side, texts).await.filter(|vectors| vectors.len() == wanted)
    }
}

/// Each in standard deviations from the middle of all.
fn outstanding(alike: &[f32]) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "there are some dozen candidates")]
    let count = alike.len().max(1) as f32;
    let middle = alike.iter().sum::<f32>() / count;
    let variance = alike.iter().map(|it| (it - middle).powi(2)).sum::<f32>() / count;
    let deviation = variance.sqrt().max(f32::EPSILON);
    alike.iter().map(|it| (it - middle) / deviation).collect()
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
