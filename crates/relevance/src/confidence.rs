//! Whether the best that was found is likely to do what was asked, or only the nearest there is.
//!
//! The limits were chosen on the requests of `evals/p0` and `evals/small` against those of
//! `evals/absent`, with the model in the binary. Vectors of other models have other cosines, so
//! there these limits say nothing.

use crate::retrieve::Candidate;

/// Below this score, most of what is found is not what was asked for.
const LIKELY: f32 = 0.35;
/// Where not one word is shared, gibberish comes this far.
const LIKELY_WITHOUT_WORDS: f32 = 0.40;

/// Nothing where it cannot be told, because the best has no vector to compare.
pub fn confident(found: &[Candidate]) -> Option<bool> {
    let Some(best) = found.first() else {
        return Some(false);
    };
    best.cosine?;
    let shares_words = found.iter().any(|it| it.parts.lexical > 0.0);
    Some(
        best.score
            >= if shares_words {
                LIKELY
            } else {
                LIKELY_WITHOUT_WORDS
            },
    )
}
