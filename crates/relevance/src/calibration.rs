//! Measures how well probabilities match the outcomes, and how well they separate impossible from
//! possible requests.

/// The usual number of bins.
const RANGES: usize = 10;

/// A predicted probability and its outcome.
#[derive(Debug, Clone, Copy)]
pub struct Forecast {
    pub probability: f32,
    pub came_true: bool,
    /// The weight of the case in the mean.
    pub weight: f64,
}

/// Returns the expected calibration error: the mean distance between prediction and outcome over
/// bins of probability. `None` without forecasts.
pub fn calibration_error(forecasts: &[Forecast]) -> Option<f64> {
    let total: f64 = forecasts.iter().map(|it| it.weight).sum();
    let mut gaps = [0.0; RANGES];
    for it in forecasts {
        let range = (it.probability * RANGES as f32) as usize;
        let truth = f64::from(u8::from(it.came_true));
        gaps[range.min(RANGES - 1)] += it.weight * (f64::from(it.probability) - truth);
    }
    let sum: f64 = gaps.iter().map(|gap| gap.abs()).sum();
    (total > 0.0).then(|| sum / total)
}

/// Returns the share of impossible cases below the threshold that only `false_alarms` of the
/// possible cases fall below.
pub fn detection_rate(possible: &[f32], impossible: &[f32], false_alarms: f64) -> Option<f64> {
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
        let forecasts = forecasts
            .iter()
            .map(|(probability, came_true, weight)| Forecast {
                probability: *probability,
                came_true: *came_true,
                weight: *weight,
            });
        let forecasts: Vec<Forecast> = forecasts.collect();
        let found = calibration_error(&forecasts);
        let rounded = found.map(|it| (it * 1e4).round() / 1e4);
        assert_eq!(rounded, expected, "{forecasts:?}");
    }

    #[test]
    fn a_well_calibrated_probability_has_no_error() {
        check(&[(0.5, true, 1.0), (0.5, false, 1.0)], Some(0.0));
        check(&[(1.0, true, 1.0), (0.0, false, 1.0)], Some(0.0));
        check(&[(0.75, true, 3.0), (0.75, false, 1.0)], Some(0.0));
    }

    #[test]
    fn overconfidence_is_an_error_by_its_weight() {
        check(&[(1.0, false, 1.0)], Some(1.0));
        check(&[(0.9, true, 1.0), (0.9, false, 1.0)], Some(0.4));
        check(&[(0.9, false, 1.0), (0.0, false, 3.0)], Some(0.225));
        check(&[], None);
    }

    #[test]
    fn impossible_requests_are_recognized_below_nearly_all_possible_ones() {
        let possible: Vec<f32> = (0..20).map(|it| 0.4 + it as f32 / 100.0).collect();
        let impossible = [0.1, 0.2, 0.405, 0.9];
        assert_eq!(detection_rate(&possible, &impossible, 0.05), Some(0.75));
        assert_eq!(detection_rate(&possible, &impossible, 0.0), Some(0.5));
        assert_eq!(detection_rate(&[], &impossible, 0.05), None);
        assert_eq!(detection_rate(&possible, &[], 0.05), None);
    }
}
