//! One score out of meaning, words, the steps of an intent, a tool's record and its past use.
//!
//! The model was trained for the cosine, which stays as it is. BM25 is added as it is too: it
//! grows with the rarity of the shared words and so weighs most where words decide, which
//! stretching it per intent would lose. The weights were fitted on requests that the model had
//! not seen (`training/fit.py`).

/// The share of each part in a score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    pub lexical: f32,
    pub dense: f32,
    /// The bonus of the best tool for one step of several.
    pub steps: f32,
    /// The part of a tool's record: success, time and cost.
    pub priors: f32,
    pub unit: ScoreUnit,
}

/// The unit in which cosine and BM25 are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreUnit {
    Plain,
    /// Shares of the best for the same intent. Other programs add them up like this; it is here
    /// for comparison.
    OfBest,
}

impl Weights {
    /// The lexical weight and the step bonus come from the best mean nDCG@10 over requests for
    /// servers that training left out; a lexical weight between 0.002 and 0.005 is within 0.002
    /// of it. Tools that fit a request nearly equally well lie a hundredth apart, so with this
    /// weight of the priors one that always fails loses several places among them, and none rises
    /// by more than one.
    pub const LEARNED: Self = Self {
        lexical: 0.004,
        dense: 1.0,
        steps: 0.1,
        priors: 0.08,
        unit: ScoreUnit::Plain,
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
        unit: ScoreUnit::OfBest,
        ..Self::LEARNED
    };

    /// Returns the weights for an intent whose best candidates have these scores.
    pub(crate) fn against(self, best_words: f32, best_cosine: f32) -> Self {
        match self.unit {
            ScoreUnit::Plain => self,
            // A best score of zero has nothing to share out; the bound keeps the division finite.
            ScoreUnit::OfBest => Self {
                lexical: self.lexical / best_words.max(1e-6),
                dense: self.dense / best_cosine.max(1e-6),
                ..self
            },
        }
    }
}

/// The parts of a candidate's score, each already weighted.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// The BM25 part. Without a vector it also holds the cosine that is estimated from the shared
    /// words.
    pub lexical: f32,
    pub dense: f32,
    pub steps: f32,
    /// The part of success, time and cost; 0 where none of them is known.
    #[serde(default)]
    pub priors: f32,
    /// The bonus that past use in contexts like this one gives.
    #[serde(default)]
    pub learned: f32,
    /// The lift of a tool that the intent names.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub named: f32,
}

fn is_nothing(part: &f32) -> bool {
    *part == 0.0
}

impl Parts {
    pub fn sum(&self) -> f32 {
        self.lexical + self.dense + self.steps + self.priors + self.learned + self.named
    }

    pub(crate) fn sum_without_votes(&self) -> f32 {
        self.sum() - self.learned
    }

    /// The parts that say how well a tool fits the whole request: those that the confidence in an answer
    /// was fitted with, and use.
    pub(crate) fn fit(&self) -> f32 {
        self.lexical + self.dense + self.learned
    }

    /// The part that use and the record of a tool have.
    pub(crate) fn experience(&self) -> f32 {
        self.priors + self.learned
    }
}

/// Returns a sum as it is shown, between 0 and 1: a cosine and a little more. Sums above `KNEE` are pressed
/// together below 1 instead of being cut off, so that a better candidate still has a higher score.
pub(crate) fn shown(sum: f32) -> f32 {
    let rest = 1.0 - KNEE;
    let shown = if sum <= KNEE {
        sum
    } else {
        1.0 - rest * ((KNEE - sum) / rest).exp()
    };
    shown.clamp(0.0, 1.0)
}

/// Hardly any cosine of a tool with an intent lies above this, so nearly all scores are shown as
/// they are.
const KNEE: f32 = 0.8;

/// Returns the cosine that a tool without a vector is taken to have, from the share of the
/// intent's words (by their weight) that it has.
///
/// The estimate is generous: with it, when half of the vectors are missing, tools without one are
/// found as often as by words alone, and hardly any of the others is pushed out of the first
/// twenty (measured on training requests). A small share of a long intent says nearly as much as
/// a large share of a short one, hence the root.
pub(crate) fn expected_cosine(share: f32) -> f32 {
    // 0.8 is about the highest cosine that a tool has with an intent.
    0.8 * share.clamp(0.0, 1.0).powf(0.2)
}

/// A tool that is 0.05 behind the best for a step gets 1/e of the bonus.
const STEP_SHARPNESS: f32 = 20.0;

/// Returns the part of a step's bonus for a tool whose score for the step is this much below the
/// best.
pub(crate) fn step_gain(behind: f32) -> f32 {
    (STEP_SHARPNESS * behind).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_score_is_the_sum_up_to_the_knee_and_rises_below_one_after_it() {
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
