//! Estimates the probability that the tools found do what the request asks.
//!
//! Two logistic functions of a few features, fitted by `training/confidence.py` on requests for
//! servers that the built-in model was not trained on: as they are, with the right tool removed
//! from the catalog, and with its whole server removed. Vectors of other models have other cosines,
//! for which these probabilities mean nothing.

use serde::{Deserialize, Serialize};

/// The number of top scores that the features use, and the cut-off of [`Confidence::any`].
pub(crate) const COMPARED: usize = 5;

/// An answer below this probability that any tool is right is reported as doubtful. 5 % of the
/// correct answers are below it.
const LIKELY: f32 = 0.17;

/// Below this, hardly any request has a tool that can do it.
const HOPELESS: f32 = 0.05;

/// The smallest catalog in the training data of the fit.
const MIN_FITTED_TOOLS: usize = 30;

/// Probabilities from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The probability that the first tool is right.
    pub first: f32,
    /// The probability that a right tool is among the first five.
    pub any: f32,
}

impl Confidence {
    /// The confidence in an empty answer.
    pub(crate) const NONE: Self = Self {
        first: 0.0,
        any: 0.0,
    };

    /// False if the answer is probably just the nearest tools rather than the right ones.
    pub fn is_likely(self) -> bool {
        self.any >= LIKELY
    }

    /// True if almost certainly no tool does what was asked.
    pub fn is_hopeless(self) -> bool {
        self.any < HOPELESS
    }

    /// True if the first tool is more likely right than wrong.
    pub fn is_first_likely(self) -> bool {
        self.first >= 0.5
    }
}

/// The inputs of the estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfidenceFeatures {
    pub(crate) score: f32,
    pub(crate) lead_over_second: f32,
    /// The lead over the last result if there are fewer than five.
    pub(crate) lead_over_fifth: f32,
    /// The number of tools that were compared.
    pub(crate) tools: usize,
}

impl ConfidenceFeatures {
    pub(crate) fn estimate(&self) -> Confidence {
        let first = FIRST.probability(self);
        Confidence {
            first,
            // The two were fitted separately, but the first result is one of the five.
            any: ANY.probability(self).max(first),
        }
    }
}

struct Logistic {
    constant: f32,
    score: f32,
    lead_over_second: f32,
    lead_over_fifth: f32,
    /// The coefficient of the logarithm of the number of tools.
    tools: f32,
}

const FIRST: Logistic = Logistic {
    constant: -5.832,
    score: 9.865,
    lead_over_second: 6.639,
    lead_over_fifth: 5.459,
    tools: -0.263,
};

const ANY: Logistic = Logistic {
    constant: -5.452,
    score: 10.952,
    lead_over_second: 0.434,
    lead_over_fifth: 5.791,
    tools: -0.275,
};

impl Logistic {
    fn probability(&self, features: &ConfidenceFeatures) -> f32 {
        let sum = self.constant
            + self.score * features.score
            + self.lead_over_second * features.lead_over_second
            + self.lead_over_fifth * features.lead_over_fifth
            + self.tools * (features.tools.max(MIN_FITTED_TOOLS) as f32).ln();
        1.0 / (1.0 + (-sum).exp())
    }
}
