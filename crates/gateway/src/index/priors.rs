//! Facts about tools that are not in their definitions: values declared by the operator, and
//! results of the last run over the audit.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kitbag_config::ToolOverride;
use kitbag_domain::{Capability, Timestamp};
use kitbag_store::{Error, Store};

use crate::learning::priors::track::ToolTrack;
use crate::learning::priors::{StoredTrack, load_tracks};

/// The values by which the index filters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Priors {
    pub(crate) cost_usd: Option<f64>,
    pub(crate) p95_latency_ms: Option<f64>,
    pub(crate) p99_latency_ms: Option<f64>,
    pub(crate) success_rate: Option<f64>,
    /// The last run in which calls of the tool were counted.
    pub(crate) updated_at: Option<Timestamp>,
}

/// The priors computed from calls.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct MeasuredPriors {
    tools: HashMap<Capability, MeasuredTool>,
    /// The run that computed them, if any.
    pub(super) counted_at: Option<Timestamp>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct MeasuredTool {
    priors: Priors,
    tokens_per_answer: Option<f64>,
    usd_per_call: Option<f64>,
}

/// Declared values of tools, by the name under which clients call a tool.
pub(crate) type ToolOverrides = BTreeMap<String, ToolOverride>;

impl MeasuredPriors {
    pub(crate) async fn load(store: &Store, namespace: &str) -> Result<Self, Error> {
        let run = store.priors_run(namespace).await?;
        let tracks = load_tracks(store, namespace).await?.into_iter();
        Ok(Self {
            tools: tracks
                .map(|(tool, stored)| (tool, MeasuredTool::from_track(&stored)))
                .collect(),
            counted_at: run.map(|run| run.counted_at),
        })
    }

    /// Returns the success rate, and the average tokens of an answer.
    pub(crate) fn model_record(&self, model: &Capability) -> (Option<f64>, Option<f64>) {
        let measured = self.tools.get(model);
        let rate = measured.and_then(|it| it.priors.success_rate);
        (rate, measured.and_then(|it| it.tokens_per_answer))
    }

    /// A declared value replaces the measured one: the operator knows something that the calls do
    /// not show.
    pub(crate) fn priors_for(
        &self,
        declared: Option<&ToolOverride>,
        capability: &Capability,
        usd_per_million_tokens: Option<f64>,
    ) -> Priors {
        let tool = self.tools.get(capability).copied().unwrap_or_default();
        let measured = Priors {
            cost_usd: tool.cost_usd(usd_per_million_tokens),
            ..tool.priors
        };
        let Some(declared) = declared else {
            return measured;
        };
        Priors {
            cost_usd: declared.cost_usd.or(measured.cost_usd),
            p95_latency_ms: declared.p95_latency_ms.or(measured.p95_latency_ms),
            p99_latency_ms: declared.p99_latency_ms.or(measured.p99_latency_ms),
            success_rate: declared.success_rate.or(measured.success_rate),
            updated_at: measured.updated_at,
        }
    }
}

impl MeasuredTool {
    fn from_track(stored: &StoredTrack) -> Self {
        Self {
            priors: track_priors(&stored.track, stored.updated_at),
            tokens_per_answer: stored.track.tokens_per_answer(),
            usd_per_call: stored.track.usd_per_call(),
        }
    }

    /// Returns the average measured price, or else the price of the result's tokens.
    fn cost_usd(&self, usd_per_million_tokens: Option<f64>) -> Option<f64> {
        let of_tokens = || Some(self.tokens_per_answer? * usd_per_million_tokens? / 1e6);
        let cost = self.usd_per_call.or_else(of_tokens)?;
        // A billionth of a dollar is the smallest price in the audit.
        Some((cost * 1e9).round() / 1e9)
    }
}

fn track_priors(track: &ToolTrack, updated_at: Timestamp) -> Priors {
    Priors {
        cost_usd: None,
        p95_latency_ms: track.latency(0.95).map(round_to_milliseconds),
        p99_latency_ms: track.latency(0.99).map(round_to_milliseconds),
        success_rate: Some((track.success_rate() * 100.0).round() / 100.0),
        updated_at: Some(updated_at),
    }
}

pub(crate) fn round_to_milliseconds(latency: Duration) -> f64 {
    round_up_to_two_digits(latency.as_secs_f64() * 1e3)
}

/// Rounds up to two significant digits: 1234 becomes 1300.
fn round_up_to_two_digits(number: f64) -> f64 {
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
    fn latencies_are_rounded_to_significant_digits() {
        let cases = [
            (0.0, 0.0),
            (0.304, 0.31),
            (7.0, 7.0),
            (12.34, 13.0),
            (1234.0, 1300.0),
            (99_100.0, 100_000.0),
        ];
        for (number, expected) in cases {
            assert_eq!(round_up_to_two_digits(number), expected);
        }
    }
}
