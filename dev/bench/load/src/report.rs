//! Summarizes the latencies for comparison.

use std::time::Duration;

use serde_json::{Value, json};

/// The figures of a client, or of all of them.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) calls: Vec<Duration>,
    pub(crate) searches: Vec<Duration>,
    pub(crate) errors: Vec<String>,
    /// Until the last answer, which arrives after the last call was sent.
    pub(crate) took: Duration,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls.extend(other.calls);
        self.searches.extend(other.searches);
        self.errors.extend(other.errors);
        self.took = self.took.max(other.took);
    }

    pub(crate) fn json(mut self) -> Value {
        let mut report = summary(&mut self.calls, self.took);
        report["errors"] = json!(self.errors.len());
        report["first_error"] = json!(self.errors.first());
        if !self.searches.is_empty() {
            report["searches"] = summary(&mut self.searches, self.took);
        }
        report
    }
}

fn summary(latencies: &mut [Duration], took: Duration) -> Value {
    latencies.sort_unstable();
    json!({
        "requests": latencies.len(),
        "per_second": latencies.len() as f64 / took.as_secs_f64(),
        "p50_us": quantile(latencies, 0.50),
        "p99_us": quantile(latencies, 0.99),
    })
}

/// In microseconds; the nearest rank, so always an observed latency.
fn quantile(ascending: &[Duration], share: f64) -> f64 {
    let rank = (ascending.len() as f64 * share).ceil() as usize;
    let latency = ascending.get(rank.max(1) - 1);
    latency.map_or(f64::NAN, |latency| latency.as_nanos() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_latency_that_was_seen() {
        let latencies: Vec<_> = (1..=100).map(Duration::from_micros).collect();
        assert!((quantile(&latencies, 0.5) - 50.0).abs() < f64::EPSILON);
        assert!((quantile(&latencies, 0.99) - 99.0).abs() < f64::EPSILON);
    }
}
