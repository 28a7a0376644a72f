//! A share of answers, with the number of answers and a confidence interval.

use std::collections::HashSet;

use serde::Serialize;

use crate::record::Record;

/// With 95 % confidence, the interval contains the share for prompts like these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    pub count: usize,
    /// The number of answers.
    pub of: usize,
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Rate {
    /// Returns `None` if there are no answers.
    pub(crate) fn from_records<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        is: impl Fn(&Record) -> bool,
    ) -> Option<Self> {
        let (mut count, mut of, mut prompts) = (0, 0, HashSet::new());
        for record in records {
            count += usize::from(is(record));
            of += 1;
            prompts.insert(record.prompt.as_str());
        }
        (of > 0).then(|| Self::new(count, of, prompts.len()))
    }

    /// Answers to the same prompt resemble each other, so a prompt counts once towards the
    /// interval, however often it was sent.
    pub(super) fn new(count: usize, of: usize, prompts: usize) -> Self {
        let mean = count as f64 / of as f64;
        let (low, high) = wilson(mean, prompts as f64);
        Self {
            count,
            of,
            mean,
            low,
            high,
        }
    }
}

/// Computes Wilson's score interval. Unlike the usual interval, it is valid for few prompts and for
/// shares near zero and one.
fn wilson(mean: f64, n: f64) -> (f64, f64) {
    /// A normal variable stays within this many deviations with a probability of 95 %.
    const Z: f64 = 1.959_964;
    let square = Z * Z;
    let centre = (mean + square / (2.0 * n)) / (1.0 + square / n);
    let reach = Z * (mean * (1.0 - mean) / n + square / (4.0 * n * n)).sqrt() / (1.0 + square / n);
    ((centre - reach).max(0.0), (centre + reach).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: usize, of: usize, low: f64, high: f64) {
        let rate = Rate::new(count, of, of);
        assert!(
            (rate.low - low).abs() < 5e-4 && (rate.high - high).abs() < 5e-4,
            "{rate:?}"
        );
    }

    #[test]
    fn an_interval_is_wilsons() {
        check(0, 10, 0.0, 0.2775);
        check(5, 10, 0.2366, 0.7634);
        check(46, 50, 0.8116, 0.9685);
        check(50, 50, 0.9287, 1.0);
    }

    #[test]
    fn repeating_a_prompt_does_not_narrow_the_interval() {
        let (once, thrice) = (Rate::new(40, 50, 50), Rate::new(120, 150, 50));
        assert_eq!((once.low, once.high), (thrice.low, thrice.high));
    }
}
