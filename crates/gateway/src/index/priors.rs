//! The facts about tools that are not in their definitions: those that the operator declares, and
//! those that the calls of the last weeks show.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kitbag_config::DeclaredTool;
use kitbag_domain::{Capability, Timestamp};
use kitbag_store::{Store, ToolStatistics};

/// The values by which the index filters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Priors {
    pub(crate) cost_usd: Option<f64>,
    pub(crate) p95_latency_ms: Option<f64>,
    pub(crate) p99_latency_ms: Option<f64>,
    pub(crate) success_rate: Option<f64>,
}

/// The priors that calls show, rounded so that one more call rarely changes them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Measured(HashMap<Capability, Priors>);

/// The declared values of tools, by the name that clients call a tool.
pub(crate) type Declared = BTreeMap<String, DeclaredTool>;

const LOOKED_BACK: Duration = Duration::from_secs(30 * 86_400);
/// Fewer calls say nothing.
const LEAST_CALLS: usize = 20;
/// Of fewer calls, the slowest in a hundred is not known.
const LEAST_CALLS_FOR_P99: usize = 100;

impl Measured {
    pub(super) async fn of(store: &Store, now: Timestamp) -> Result<Self, kitbag_store::Error> {
        let since = Timestamp(now.0 - LOOKED_BACK.as_millis() as i64);
        let tracks = store.tool_statistics(since).await?.into_iter();
        Ok(Self(
            tracks
                .filter_map(|(capability, track)| Some((capability, shown_by(&track)?)))
                .collect(),
        ))
    }

    /// A declared value replaces the measured one: the operator who declares it knows something
    /// that the calls do not show.
    pub(super) fn with(&self, declared: Option<&DeclaredTool>, capability: &Capability) -> Priors {
        let measured = self.0.get(capability).copied().unwrap_or_default();
        let Some(declared) = declared else {
            return measured;
        };
        Priors {
            cost_usd: declared.cost_usd,
            p95_latency_ms: declared.p95_latency_ms.or(measured.p95_latency_ms),
            p99_latency_ms: declared.p99_latency_ms.or(measured.p99_latency_ms),
            success_rate: declared.success_rate.or(measured.success_rate),
        }
    }
}

fn shown_by(track: &ToolStatistics) -> Option<Priors> {
    if track.calls < LEAST_CALLS {
        return None;
    }
    let p95 = track.latency(0.95);
    let p99 = track.latency(0.99);
    Some(Priors {
        cost_usd: None,
        p95_latency_ms: p95.map(milliseconds),
        p99_latency_ms: p99
            .filter(|_| track.calls >= LEAST_CALLS_FOR_P99)
            .map(milliseconds),
        success_rate: Some((track.succeeded as f64 / track.calls as f64 * 100.0).round() / 100.0),
    })
}

fn milliseconds(latency: Duration) -> f64 {
    two_digits(latency.as_secs_f64() * 1e3)
}

/// The first two digits that count, upwards: 1234 becomes 1300.
fn two_digits(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(number.log10().floor() - 1.0);
    let rounded = (number / unit).ceil() * unit;
    // Removes the rounding error of the division: 0.31000000000000005 becomes 0.31.
    (rounded * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_rounded_to_what_counts() {
        let cases = [
            (0.0, 0.0),
            (0.304, 0.31),
            (7.0, 7.0),
            (12.34, 13.0),
            (1234.0, 1300.0),
            (99_100.0, 100_000.0),
        ];
        for (number, expected) in cases {
            assert_eq!(two_digits(number), expected);
        }
    }
}
