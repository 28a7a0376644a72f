//! One score out of meaning, words and the steps of an intent.
//!
//! The cosine is what the model was trained for and stays as it is. BM25 is added as it is too:
//! it grows with how rare the shared words are and so weighs most where words decide, which
//! stretching it per intent would lose. The weights were fitted on requests the model had not
//! seen (`training/fit.py`).

/// How much of each kind goes into a score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    pub lexical: f32,
    pub dense: f32,
    /// What the best capability for one step of several gains.
    pub steps: f32,
    pub unit: Unit,
}

/// What cosine and BM25 are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Plain,
    /// Parts of the best for the same intent: how others add them up, for comparison.
    OfBest,
}

impl Weights {
    pub const LEARNED: Self = Self {
        lexical: 0.006,
        dense: 1.0,
        steps: 0.1,
        unit: Unit::Plain,
    };
    pub const LEXICAL: Self = Self {
        dense: 0.0,
        steps: 0.0,
        ..Self::LEARNED
    };
    pub const DENSE: Self = Self {
        lexical: 0.0,
        steps: 0.0,
        ..Self::LEARNED
    };
    pub const EQUAL: Self = Self {
        lexical: 0.5,
        dense: 0.5,
        steps: 0.0,
        unit: Unit::OfBest,
    };

    /// The weights for an intent whose best candidates have these scores.
    pub(crate) fn against(self, best_words: f32, best_cosine: f32) -> Self {
        match self.unit {
            Unit::Plain => self,
            Unit::OfBest => Self {
                lexical: self.lexical / best_words.max(1e-6),
                dense: self.dense / best_cosine.max(1e-6),
                ..self
            },
        }
    }
}

/// What a candidate's score is made of, each part already weighted.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// Words in common. Where there is no cosine, also what they let expect of it.
    pub lexical: f32,
    pub dense: f32,
    pub steps: f32,
}

impl Parts {
    pub fn sum(&self) -> f32 {
        self.lexical + self.dense + self.steps
    }

    /// The sum as it is shown, between 0 and 1: a cosine and a little more. What lies above
    /// [`KNEE`] is pressed together below 1 instead of being cut off, so that a better candidate
    /// still has a higher score.
    pub fn shown(&self) -> f32 {
        let (sum, rest) = (self.sum(), 1.0 - KNEE);
        let shown = if sum <= KNEE {
            sum
        } else {
            1.0 - rest * ((KNEE - sum) / rest).exp()
        };
        shown.clamp(0.0, 1.0)
    }
}

const KNEE: f32 = 0.8;

/// The cosine a capability without a vector is taken to have, from the share of the intent's
/// words (by their weight) that it has.
///
/// Generous: with it, when half of the vectors are missing, tools without one are found as often
/// as by words alone, and hardly any of the others is pushed out of the first twenty (measured on
/// training requests). A small share of a long intent says nearly as much as a large share of a
/// short one, hence the root.
pub(crate) fn expected_cosine(share: f32) -> f32 {
    0.8 * share.clamp(0.0, 1.0).powf(0.2)
}

const STEP_SHARPNESS: f32 = 20.0;

/// The part of a step's bonus that a capability gets whose score for the step is this much
/// below the best.
pub(crate) fn step_gain(behind: f32) -> f32 {
    (STEP_SHARPNESS * behind).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_score_is_the_sum_up_to_the_knee_and_rises_below_one_after_it() {
        let shown = |dense| {
            Parts {
                dense,
                ..Parts::default()
            }
            .shown()
        };
        assert_eq!(
            [shown(-0.3), shown(0.0), shown(0.5), shown(KNEE)],
            [0.0, 0.0, 0.5, KNEE]
        );
        let rising: Vec<f32> = (0..150).map(|step| shown(step as f32 / 100.0)).collect();
        assert!(
            rising.windows(2).all(|pair| pair[0] < pair[1]),
            "{rising:?}"
        );
        assert!(rising.iter().all(|score| *score < 1.0));
        assert!(shown(50.0) <= 1.0);
    }
}
