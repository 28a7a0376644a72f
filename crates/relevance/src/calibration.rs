//! Measures how true probabilities are, and how well they tell the impossible from the possible.

/// The number of ranges in which probabilities are held against the truth; ten is usual.
const RANGES: usize = 10;

/// A probability, and what turned out to be so.
#[derive(Debug, Clone, Copy)]
pub struct Forecast {
    pub said: f32,
    pub is_so: bool,
    /// The part that the case has in the mean.
    pub weight: f64,
}

/// Returns the expected calibration error: the mean distance between what was said and what was so, over
/// ranges of probability. Returns nothing without a forecast.
pub fn calibration_error(forecasts: &[Forecast]) -> Option<f64> {
    let total: f64 = forecasts.iter().map(|it| it.weight).sum();
    let mut gaps = [0.0; RANGES];
    for it in forecasts {
        let range = (it.said * RANGES as f32) as usize;
        let truth = f64::from(u8::from(it.is_so));
        gaps[range.min(RANGES - 1)] += it.weight * (f64::from(it.said) - truth);
    }
    let sum: f64 = gaps.iter().map(|gap| gap.abs()).sum();
    (total > 0.0).then(|| sum / total)
}

/// Returns the share of the impossible that lies below the probability under which only this share of the
/// possible lies.
pub fn recognised(possible: &[f32], impossible: &[f32], false_alarms: f64) -> Option<f64> {
    let mut possible = possible.to_vec();
    possible.sort_unstable_by(f32::total_cmp);
    let bar = possible.get((possible.len() as f64 * false_alarms) as usize)?;
    let below = impossible.iter().filter(|it| *it < bar).count();
    (!impossible.is_empty()).then(|| below as f64 / impossible.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(forecasts: &[(f32, bool, f64)], expected: Option<f64>) {
        let forecasts = forecasts.iter().map(|(said, is_so, weight)| Forecast {
            said: *said,
            is_so: *is_so,
            weight: *weight,
        });
        let forecasts: Vec<Forecast> = forecasts.collect();
        let found = calibration_error(&forecasts);
        let rounded = found.map(|it| (it * 1e4).round() / 1e4);
        assert_eq!(rounded, expected, "{forecasts:?}");
    }

    #[test]
    fn a_probability_that_comes_true_as_often_as_it_says_has_no_error() {
        check(&[(0.5, true, 1.0), (0.5, false, 1.0)], Some(0.0));
        check(&[(1.0, true, 1.0), (0.0, false, 1.0)], Some(0.0));
        check(&[(0.75, true, 3.0), (0.75, false, 1.0)], Some(0.0));
    }

    #[test]
    fn what_is_said_too_surely_is_an_error_by_its_weight() {
        check(&[(1.0, false, 1.0)], Some(1.0));
        check(&[(0.9, true, 1.0), (0.9, false, 1.0)], Some(0.4));
        check(&[(0.9, false, 1.0), (0.0, false, 3.0)], Some(0.225));
        check(&[], None);
    }

    #[test]
    fn the_impossible_is_recognised_below_nearly_all_that_is_possible() {
        let possible: Vec<f32> = (0..20).map(|it| 0.4 + it as f32 / 100.0).collect();
        let impossible = [0.1, 0.2, 0.405, 0.9];
        assert_eq!(recognised(&possible, &impossible, 0.05), Some(0.75));
        assert_eq!(recognised(&possible, &impossible, 0.0), Some(0.5));
        assert_eq!(recognised(&[], &impossible, 0.05), None);
        assert_eq!(recognised(&possible, &[], 0.05), None);
    }
}
