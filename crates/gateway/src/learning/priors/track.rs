//! The record of one tool: its calls, weighted by age.
//!
//! All values are additive, so it does not matter how many runs counted the calls.

use std::time::Duration;

use kitbag_domain::LatencyHistogram;
use kitbag_store::ToolStatistics;
use serde::{Deserialize, Serialize};

/// The assumed success rate of an unknown tool, and the number of calls that this guess is worth:
/// the first call moves the rate a little, and ten outweigh the guess.
const USUAL_RATE: f64 = 0.9;
const GUESS: f64 = 5.0;
/// Earlier days count for at most this many calls, so that a much-used tool that begins to fail
/// shows it after a day.
const MOST_CALLS: f64 = 50.0;
/// The weight halves every day.
const DAILY_FACTOR: f64 = 0.5;
/// A tool with fewer weighted calls counts as never called.
const FORGOTTEN: f64 = 0.01;
/// With fewer calls, the 99th percentile is unknown.
const LEAST_CALLS_FOR_P99: f64 = 100.0;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolTrack {
    succeeded: f64,
    failed: f64,
    latencies: LatencyHistogram,
    /// The answers with counted tokens, and the sum of their tokens.
    answers: f64,
    tokens: f64,
    /// The calls with a known price, and the sum of their prices in US dollars. Records of earlier
    /// versions have none.
    #[serde(default)]
    priced: f64,
    #[serde(default)]
    spent_usd: f64,
}

impl ToolTrack {
    /// Ages the record by a number of days.
    pub(crate) fn fade(&mut self, days: f64) {
        let factor = DAILY_FACTOR.powf(days);
        self.scale_outcomes(factor);
        self.latencies.fade(factor);
        self.answers *= factor;
        self.tokens *= factor;
        self.priced *= factor;
        self.spent_usd *= factor;
    }

    /// Adds the calls of a span that ended `days_ago`.
    pub(crate) fn add_calls(&mut self, seen: &ToolStatistics, days_ago: f64) {
        let mut calls = Self {
            succeeded: seen.succeeded as f64,
            failed: seen.calls.saturating_sub(seen.succeeded) as f64,
            latencies: seen.latencies.clone(),
            answers: seen.answers as f64,
            tokens: seen.tokens as f64,
            priced: seen.priced as f64,
            spent_usd: seen.spent.to_usd(),
        };
        calls.fade(days_ago);
        self.succeeded += calls.succeeded;
        self.failed += calls.failed;
        self.latencies.add(&calls.latencies);
        self.answers += calls.answers;
        self.tokens += calls.tokens;
        self.priced += calls.priced;
        self.spent_usd += calls.spent_usd;
    }

    /// Call this after everything is added.
    pub(crate) fn limit_calls(&mut self) {
        let most = MOST_CALLS / self.calls();
        if most < 1.0 {
            self.scale_outcomes(most);
        }
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.calls() < FORGOTTEN
    }

    /// Returns the number of calls behind the rate.
    pub(crate) fn calls(&self) -> f64 {
        self.succeeded + self.failed
    }

    pub(crate) fn success_rate(&self) -> f64 {
        (self.succeeded + GUESS * USUAL_RATE) / (self.calls() + GUESS)
    }

    /// Returns the time within which this share of the calls completes, if there are enough calls.
    pub(crate) fn latency(&self, share: f64) -> Option<Duration> {
        let is_known = share <= 0.95 || self.latencies.count() >= LEAST_CALLS_FOR_P99;
        self.latencies.quantile(share).filter(|_| is_known)
    }

    pub(crate) fn tokens_per_answer(&self) -> Option<f64> {
        (self.answers > FORGOTTEN).then(|| self.tokens / self.answers)
    }

    /// Returns the average price of the calls with a known price.
    pub(crate) fn usd_per_call(&self) -> Option<f64> {
        (self.priced > FORGOTTEN).then(|| self.spent_usd / self.priced)
    }

    fn scale_outcomes(&mut self, part: f64) {
        self.succeeded *= part;
        self.failed *= part;
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::NanoUsd;

    use super::*;

    fn day(succeeded: u64, failed: u64) -> ToolStatistics {
        ToolStatistics {
            calls: succeeded + failed,
            succeeded,
            ..ToolStatistics::default()
        }
    }

    /// Returns the rates after each of these days, in percent.
    fn rates(days: &[(u64, u64)]) -> Vec<u32> {
        let mut track = ToolTrack::default();
        let after = days.iter().map(|(succeeded, failed)| {
            track.fade(1.0);
            track.add_calls(&day(*succeeded, *failed), 0.0);
            track.limit_calls();
            (track.success_rate() * 100.0).round() as u32
        });
        after.collect()
    }

    #[test]
    fn a_first_call_moves_the_rate_a_little() {
        assert_eq!(rates(&[(1, 0)]), [92]);
        assert_eq!(rates(&[(0, 1)]), [75]);
    }

    #[test]
    fn a_tool_that_begins_to_fail_shows_it_after_a_day_and_recovers() {
        let busy = rates(&[(1000, 0), (1000, 0), (0, 1000), (1000, 0), (1000, 0)]);
        assert_eq!(busy, [99, 99, 10, 97, 99]);
        let quiet = rates(&[(5, 0), (5, 0), (5, 0), (0, 5), (5, 0), (5, 0)]);
        assert_eq!(quiet, [95, 96, 96, 62, 80, 88]);
    }

    #[test]
    fn a_tool_that_is_not_called_any_more_gets_another_chance() {
        let mut days = vec![(0, 20)];
        days.resize(8, (0, 0));
        let rates = rates(&days);
        assert_eq!((rates[0], rates[7]), (18, 87));
    }

    #[test]
    fn the_cost_of_a_call_is_the_average_known_price_and_follows_changes() {
        let priced = |calls: u64, usd: f64| ToolStatistics {
            priced: calls,
            spent: NanoUsd::from_usd(usd * calls as f64),
            ..day(calls, 0)
        };
        let mut track = ToolTrack::default();
        track.add_calls(&day(3, 0), 0.0);
        assert_eq!(
            track.usd_per_call(),
            None,
            "a call without a price is not free"
        );
        track.add_calls(&priced(4, 0.01), 0.0);
        assert_eq!(track.usd_per_call(), Some(0.01));
        track.fade(1.0);
        track.add_calls(&priced(4, 0.04), 0.0);
        let cost = track.usd_per_call().unwrap();
        assert!((cost - 0.03).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn it_makes_no_difference_in_how_many_runs_the_calls_were_counted() {
        let mut once = ToolTrack::default();
        once.add_calls(&day(3, 1), 1.0);
        once.add_calls(&day(2, 2), 0.0);
        let mut twice = ToolTrack::default();
        twice.add_calls(&day(3, 1), 0.0);
        twice.fade(1.0);
        twice.add_calls(&day(2, 2), 0.0);
        twice.fade(0.0);
        assert_eq!(once, twice);
    }
}
