//! From the time each answer took to the few numbers that are compared.

use std::time::Duration;

use serde_json::json;

#[derive(Debug)]
pub(crate) struct Report {
    /// Ascending.
    latencies: Vec<Duration>,
    length: Duration,
}

impl Report {
    pub(crate) fn new(mut latencies: Vec<Duration>, length: Duration) -> Self {
        latencies.sort_unstable();
        Self { latencies, length }
    }

    pub(crate) fn json(&self) -> String {
        let per_second = self.latencies.len() as f64 / self.length.as_secs_f64();
        json!({
            "requests": self.latencies.len(),
            "per_second": per_second,
            "p50_us": self.quantile(0.50),
            "p99_us": self.quantile(0.99),
        })
        .to_string()
    }

    /// In microseconds; the nearest rank, so always a latency that was seen.
    fn quantile(&self, share: f64) -> f64 {
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        let latency = self.latencies.get(rank.max(1) - 1);
        latency.map_or(f64::NAN, |latency| latency.as_nanos() as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_latency_that_was_seen() {
        let latencies = (1..=100).rev().map(Duration::from_micros).collect();
        let report = Report::new(latencies, Duration::from_secs(1));
        assert!((report.quantile(0.5) - 50.0).abs() < f64::EPSILON);
        assert!((report.quantile(0.99) - 99.0).abs() < f64::EPSILON);
    }
}
