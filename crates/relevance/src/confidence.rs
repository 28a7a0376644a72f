//! Says how probable it is that the tools found do what the request asks.
//!
//! Two logistic functions of a few signs, fitted by `training/confidence.py` on requests for servers that the
//! model in the binary was not trained on: asked as they are, with the right tool taken out of the catalog, and with
//! its whole server taken out. Vectors of other models have other cosines, so the probabilities say nothing
//! about them.

use serde::{Deserialize, Serialize};

/// The number of best scores that the probabilities are computed from, and the places that
/// [`Confidence::any`] is about.
pub(crate) const COMPARED: usize = 5;

/// Below this probability that any tool is right, an answer is doubted: so are 5 % of the requests that
/// are answered rightly.
const LIKELY: f32 = 0.17;

/// Below this, hardly a request is one that any tool here does.
const HOPELESS: f32 = 0.05;

/// The fit had no catalog with fewer tools.
const FEWEST_FITTED: usize = 30;

/// Two probabilities, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The probability that the first tool is right.
    pub first: f32,
    /// The probability that a right tool is among the first five.
    pub any: f32,
}

impl Confidence {
    /// The confidence in an answer without a tool.
    pub(crate) const NONE: Self = Self {
        first: 0.0,
        any: 0.0,
    };

    /// True if the answer is more than the nearest there is.
    pub fn is_likely(self) -> bool {
        self.any >= LIKELY
    }

    /// True if it is nearly certain that no tool does what was asked.
    pub fn is_hopeless(self) -> bool {
        self.any < HOPELESS
    }

    /// True if the first tool is more probably right than wrong.
    pub fn is_first_likely(self) -> bool {
        self.first >= 0.5
    }
}

/// The signs by which an answer is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    pub(crate) score: f32,
    pub(crate) lead_over_second: f32,
    /// The lead over the last if there are fewer than five.
    pub(crate) lead_over_fifth: f32,
    /// The number of tools that were compared.
    pub(crate) tools: usize,
}

impl Signs {
    pub(crate) fn confidence(&self) -> Confidence {
        let first = FIRST.probability(self);
        Confidence {
            first,
            // The two were fitted apart, and the first is one of any.
            any: ANY.probability(self).max(first),
        }
    }
}

struct Logistic {
    constant: f32,
    score: f32,
    lead_over_second: f32,
    lead_over_fifth: f32,
    /// Of the logarithm of the number of tools.
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
    fn probability(&self, signs: &Signs) -> f32 {
        let sum = self.constant
            + self.score * signs.score
            + self.lead_over_second * signs.lead_over_second
            + self.lead_over_fifth * signs.lead_over_fifth
            + self.tools * (signs.tools.max(FEWEST_FITTED) as f32).ln();
        1.0 / (1.0 + (-sum).exp())
    }
}
