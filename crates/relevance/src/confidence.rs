//! Says if the best tool found is likely to do what the request asks, or is only the nearest.
//!
//! The limits were chosen on the requests of `evals/p0` and `evals/small` against those of
//! `evals/absent`, with the model in the binary. Vectors of other models have other cosines, so
//! the limits say nothing about them.

use crate::retrieve::Candidate;

/// Below this score, most of the best tools are not the ones that were asked for.
const LIKELY: f32 = 0.35;
/// Gibberish reaches this score where not one word is shared.
const LIKELY_WITHOUT_WORDS: f32 = 0.40;

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
