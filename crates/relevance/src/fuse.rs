//! One score out of several, whose scales have nothing to do with each other.
//!
//! Each is stretched so that the best candidate has 1 and the hundredth best 0, then they are
//! added. The model was trained for this and weighs most; words decide between tools it finds
//! alike, and are all there is until a vector has been computed. Extra weight for words in the
//! name or the provider's name was tried and did not help.

/// Where "no better than the rest" is taken to begin.
const BASELINE_RANK: usize = 100;
/// How far below the baseline a score may pull.
const FLOOR: f32 = -0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    pub lexical: f32,
    pub dense: f32,
}

impl Weights {
    pub const LEARNED: Self = Self { lexical: 0.1, dense: 0.9 };
    pub const LEXICAL: Self = Self { lexical: 1.0, dense: 0.0 };
    pub const DENSE: Self = Self { lexical: 0.0, dense: 1.0 };
}

/// What a candidate's score is made of, each part already weighted.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Parts {
    pub lexical: f32,
    pub dense: f32,
}

impl Parts {
    pub fn sum(&self) -> f32 {
        self.lexical + self.dense
    }
}

/// How one kind of score is stretched.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    low: f32,
    span: f32,
}

impl Stretch {
    /// From all scores of this kind, in falling order.
    pub fn over(falling: &[f32]) -> Self {
        let high = falling.first().copied().unwrap_or(0.0);
        let low = match falling.get(BASELINE_RANK - 1) {
            Some(low) => *low,
            // With fewer candidates there is no baseline to see; nothing at all is one.
            None => falling.last().copied().unwrap_or(0.0).min(0.0),
        };
        Self { low, span: (high - low).max(1e-6) }
    }

    pub fn apply(&self, score: f32) -> f32 {
        ((score - self.low) / self.span).clamp(FLOOR, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_becomes_one_and_the_hundredth_nothing() {
        let falling: Vec<f32> = (0..150).map(|rank| 10.0 - rank as f32 * 0.05).collect();
        let stretch = Stretch::over(&falling);
        assert!((stretch.apply(falling[0]) - 1.0).abs() < 1e-5);
        assert!(stretch.apply(falling[99]).abs() < 1e-5);
        assert!(stretch.apply(-100.0) >= FLOOR);
    }

    #[test]
    fn equal_scores_and_no_scores_do_no_harm() {
        assert!(Stretch::over(&[0.4; 200]).apply(0.4).is_finite());
        assert!(Stretch::over(&[]).apply(1.0).is_finite());
    }
}
