//! Combines meaning, words, steps, record and past use into one score.
//!
//! The model was trained for the cosine, which is used unchanged, and so is BM25: it grows with the
//! rarity of the shared words, and rescaling it per query would lose that. The weights were fitted
//! on requests that the model had not seen (`training/fit.py`).

/// The weight of each part of a score.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    pub lexical: f32,
    pub dense: f32,
    /// The bonus of the best tool for one of several steps.
    pub steps: f32,
    /// The weight of a tool's record: success, latency and cost.
    pub priors: f32,
    pub unit: ScoreUnit,
}

/// The unit of cosine and BM25.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreUnit {
    Plain,
    /// Relative to the best score for the query. Common in other programs; only for comparison.
    OfBest,
}

impl Weights {
    /// The lexical weight and the step bonus have the best mean nDCG@10 over requests for servers
    /// that training left out; lexical weights between 0.002 and 0.005 are within 0.002 of it.
    /// Tools that fit a request about equally well are a hundredth apart. With this weight of the
    /// priors, a tool that always fails drops several ranks among them, and no tool rises by more
    /// than one.
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

    /// Returns the weights for a query whose best documents have these scores.
    pub(crate) fn scale_to_best(self, best_words: f32, best_cosine: f32) -> Self {
        match self.unit {
            ScoreUnit::Plain => self,
            // The bound keeps the division finite if the best score is zero.
            ScoreUnit::OfBest => Self {
                lexical: self.lexical / best_words.max(1e-6),
                dense: self.dense / best_cosine.max(1e-6),
                ..self
            },
        }
    }
}

/// The weighted parts of a candidate's score.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Parts {
    /// BM25. Without a vector it includes the cosine estimated from the shared words.
    pub lexical: f32,
    pub dense: f32,
    pub steps: f32,
    /// Success, latency and cost; 0 if unknown.
    #[serde(default)]
    pub priors: f32,
    /// The bonus from past use in similar contexts.
    #[serde(default)]
    pub learned: f32,
    /// The lift of a tool that the query names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub named: f32,
}

fn is_zero(part: &f32) -> bool {
    *part == 0.0
}

impl Parts {
    pub fn sum(&self) -> f32 {
        self.lexical + self.dense + self.steps + self.priors + self.learned + self.named
    }

    pub(crate) fn sum_without_votes(&self) -> f32 {
        self.sum() - self.learned
    }

    /// The parts that the confidence was fitted with, plus use.
    pub(crate) fn sum_for_confidence(&self) -> f32 {
        self.lexical + self.dense + self.learned
    }

    /// The parts from use and record.
    pub(crate) fn experience(&self) -> f32 {
        self.priors + self.learned
    }
}

/// Maps a sum to a score between 0 and 1 for display. Sums above `KNEE` are compressed instead of
/// clamped, so that better candidates keep higher scores.
pub(crate) fn to_displayed_score(sum: f32) -> f32 {
    let rest = 1.0 - KNEE;
    let shown = if sum <= KNEE {
        sum
    } else {
        1.0 - rest * ((KNEE - sum) / rest).exp()
    };
    shown.clamp(0.0, 1.0)
}

/// Hardly any cosine is higher, so nearly all scores are displayed unchanged.
const KNEE: f32 = 0.8;

/// Estimates the cosine of a tool without a vector from the share of the query's words (by weight)
/// that it has.
///
/// The estimate is generous: with half of the vectors missing, tools without one are found as often
/// as by words only, and hardly any others are pushed out of the top twenty (measured on training
/// requests). A small share of a long query says nearly as much as a large share of a short one,
/// hence the root.
pub(crate) fn expected_cosine(share: f32) -> f32 {
    // About the highest cosine of a tool with a query.
    0.8 * share.clamp(0.0, 1.0).powf(0.2)
}

/// A tool that is 0.05 behind the best for a step gets 1/e of the bonus.
const STEP_SHARPNESS: f32 = 20.0;

/// Returns the fraction of a step's bonus for a tool this far from the best (`behind` ≤ 0).
pub(crate) fn step_gain(behind: f32) -> f32 {
    (STEP_SHARPNESS * behind).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_score_is_the_sum_up_to_the_knee_and_rises_below_one_after_it() {
        assert_eq!(
            [
                to_displayed_score(-0.3),
                to_displayed_score(0.0),
                to_displayed_score(0.5),
                to_displayed_score(KNEE)
            ],
            [0.0, 0.0, 0.5, KNEE]
        );
        let rising: Vec<f32> = (0..150)
            .map(|step| to_displayed_score(step as f32 / 100.0))
            .collect();
        assert!(
            rising.windows(2).all(|pair| pair[0] < pair[1]),
            "{rising:?}"
        );
        assert!(rising.iter().all(|score| *score < 1.0));
        assert!(to_displayed_score(50.0) <= 1.0);
    }
}
