//! Latencies of calls, counted in buckets that can be added up across days and gateways.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Buckets per doubling of the latency, so that a bucket is nine per cent wide.
const PER_DOUBLING: f64 = 8.0;
/// A bucket with less than this contains only expired days.
const MIN_COUNT: f64 = 0.01;

/// Counts are fractions, because earlier days fade.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencyHistogram(BTreeMap<u16, f64>);

impl LatencyHistogram {
    pub fn record(&mut self, latency: Duration) {
        *self.0.entry(bucket_for(latency)).or_default() += 1.0;
    }

    /// Records a number of calls of about the same latency.
    pub fn record_many(&mut self, latency: Duration, calls: u64) {
        *self.0.entry(bucket_for(latency)).or_default() += calls as f64;
    }

    pub fn add(&mut self, other: &Self) {
        for (bucket, count) in &other.0 {
            *self.0.entry(*bucket).or_default() += count;
        }
    }

    /// Multiplies the weight of every call by this factor.
    pub fn fade(&mut self, part: f64) {
        self.0.values_mut().for_each(|count| *count *= part);
        self.0.retain(|_, count| *count >= MIN_COUNT);
    }

    /// The number of calls; calls of earlier days count as fractions.
    pub fn count(&self) -> f64 {
        self.0.values().sum()
    }

    /// Returns the latency that this share of the calls did not exceed, rounded up to the end of
    /// the bucket.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = self.count() * share.clamp(0.0, 1.0);
        let mut counted = 0.0;
        for (bucket, count) in &self.0 {
            counted += count;
            // The sum of fractions may miss the whole by a rounding error.
            if counted >= wanted - 1e-9 {
                return Some(bucket_end(*bucket));
            }
        }
        None
    }
}

fn bucket_for(latency: Duration) -> u16 {
    let micros = latency.as_micros().max(1) as f64;
    (micros.log2() * PER_DOUBLING).ceil() as u16
}

fn bucket_end(bucket: u16) -> Duration {
    let micros = 2_f64.powf(f64::from(bucket) / PER_DOUBLING);
    Duration::from_secs_f64(micros / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_histogram(milliseconds: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        for each in milliseconds {
            histogram.record(Duration::from_millis(each));
        }
        histogram
    }

    #[test]
    fn a_quantile_is_within_nine_per_cent_above_the_latency() {
        let histogram = new_histogram(1..=1000);
        for share in [0.5, 0.95, 0.99, 1.0] {
            let found = histogram.quantile(share).unwrap().as_secs_f64();
            assert!((share..=share * 1.1).contains(&found), "{share}: {found}");
        }
        assert_eq!(LatencyHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn two_histograms_add_up_to_the_histogram_of_all_calls() {
        let (mut here, there) = (new_histogram(1..=30), new_histogram(20..=90));
        here.add(&there);
        assert_eq!(here, new_histogram((1..=30).chain(20..=90)));
    }

    #[test]
    fn calls_of_earlier_days_fade_until_they_are_dropped() {
        let mut histogram = new_histogram([1000; 4]);
        histogram.fade(0.25);
        histogram.add(&new_histogram([10; 4]));
        assert_eq!(histogram.count(), 5.0);
        assert!(histogram.quantile(0.5) < Some(Duration::from_millis(12)));
        histogram.fade(0.001);
        assert_eq!(histogram, LatencyHistogram::default());
    }
}
