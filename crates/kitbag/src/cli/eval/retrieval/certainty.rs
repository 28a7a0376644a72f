//! Measures whether the confidence in results is justified: calibration error, and the share of impossible
//! requests that it detects.

use kitbag_relevance::Confidence;
use kitbag_relevance::calibration::{Forecast, calibration_error, detection_rate};
use serde::Serialize;

use super::request::RequestResult;

/// Share of correctly answered requests that may be doubted in order to detect impossible ones.
const FALSE_ALARMS: f64 = 0.05;

/// Shares are absent without requests of their kind.
#[derive(Debug, Serialize)]
pub(super) struct Certainty {
    /// Share of correctly answered requests that were returned with a doubt.
    pub(super) doubted_though_right: Option<f64>,
    /// Share of requests without a right tool that were returned with a doubt.
    pub(super) doubted_where_nothing_fits: Option<f64>,
    /// Calibration errors if half of the requests have lost their right tools.
    pub(super) calibration_error: CalibrationErrors,
    /// Share of impossible requests detected at 5 % false alarms.
    pub(super) recognised: RecognizedShares,
}

#[derive(Debug, Serialize)]
pub(super) struct CalibrationErrors {
    pub(super) first: Option<f64>,
    pub(super) any: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(super) struct RecognizedShares {
    /// Right tools and their equivalents removed.
    pub(super) without_tool: Option<f64>,
    /// Their servers removed as well.
    pub(super) without_server: Option<f64>,
    /// Requests without a right tool in the set.
    pub(super) absent: Option<f64>,
}

impl Certainty {
    pub(super) fn new(results: &[RequestResult]) -> Self {
        let (possible, absent): (Vec<_>, Vec<_>) = results.iter().partition(|it| it.has_answer());
        let answered = possible.iter().filter(|it| it.is_answered());
        let answered: Vec<Confidence> = answered.filter_map(|it| it.confidence).collect();
        let absent: Vec<Confidence> = absent.iter().filter_map(|it| it.confidence).collect();
        let without_tool: Vec<_> = possible.iter().filter_map(|it| it.without_tool).collect();
        let without_server: Vec<_> = possible.iter().filter_map(|it| it.without_server).collect();
        let impossible = [without_tool.as_slice(), &without_server];
        Self {
            doubted_though_right: doubted_share(&answered),
            doubted_where_nothing_fits: doubted_share(&absent),
            recognised: RecognizedShares {
                without_tool: recognized_share(&answered, &without_tool),
                without_server: recognized_share(&answered, &without_server),
                absent: recognized_share(&answered, &absent),
            },
            calibration_error: CalibrationErrors {
                first: weighted_calibration_error(
                    &possible,
                    impossible,
                    |it| it.first,
                    RequestResult::is_first_right,
                ),
                any: weighted_calibration_error(
                    &possible,
                    impossible,
                    |it| it.any,
                    RequestResult::is_answered,
                ),
            },
        }
    }
}

fn doubted_share(answers: &[Confidence]) -> Option<f64> {
    let doubted = answers.iter().filter(|it| !it.is_likely()).count();
    (!answers.is_empty()).then(|| doubted as f64 / answers.len() as f64)
}

fn recognized_share(possible: &[Confidence], impossible: &[Confidence]) -> Option<f64> {
    let [possible, impossible] = [possible, impossible].map(any_confidences);
    detection_rate(&possible, &impossible, FALSE_ALARMS)
}

fn any_confidences(answers: &[Confidence]) -> Vec<f32> {
    answers.iter().map(|it| it.any).collect()
}

/// Returns the calibration error with equal weight for possible and impossible requests, and equal
/// weight for each kind of impossible request.
fn weighted_calibration_error(
    possible: &[&RequestResult],
    impossible: [&[Confidence]; 2],
    probability: fn(&Confidence) -> f32,
    came_true: fn(&RequestResult) -> bool,
) -> Option<f64> {
    let sorts = impossible.iter().filter(|it| !it.is_empty()).count();
    let mut forecasts: Vec<Forecast> = possible
        .iter()
        .filter_map(|it| Some((probability(&it.confidence?), came_true(it))))
        .map(|(probability, came_true)| Forecast {
            probability,
            came_true,
            weight: 1.0 / possible.len() as f64,
        })
        .collect();
    for sort in impossible {
        forecasts.extend(sort.iter().map(|it| Forecast {
            probability: probability(it),
            came_true: false,
            weight: 1.0 / (sorts * sort.len()) as f64,
        }));
    }
    calibration_error(&forecasts)
}
