//! Says if the best tool found is likely to do what the request asks, or is only the nearest.
//!
//! The limits were chosen for the model in the binary. Of the requests of `evals/absent`, which nothing
//! answers, 82 % go with a doubt among the tools of `evals/p0` and 74 % among those of `evals/small`; so do
//! 1 % and 10 % of the rightly answered requests of those sets. Vectors of other models have other
//! cosines, so the limits say nothing about them.

use crate::retrieve::Candidate;

/// Below this score, the best tool is doubted.
const LIKELY: f32 = 0.39;
/// Gibberish shares no word and still has a cosine, so the limit is higher there.
const LIKELY_WITHOUT_WORDS: f32 = 0.45;

/// Returns nothing if the best has no vector to compare, because then nothing can be said.
pub fn confident(found: &[Candidate]) -> Option<bool> {
    let Some(best) = found.first() else {
        return Some(false);
    };
    best.cosine?;
    let shares_words = found.iter().any(|it| it.parts.lexical > 0.0);
    let limit = if shares_words {
        LIKELY
    } else {
        LIKELY_WITHOUT_WORDS
    };
    Some(best.score >= limit)
}
