//! Counts how tools have done lately, from the rows of their calls.

use std::collections::HashMap;
use std::time::Duration;

use kitbag_domain::{Capability, Outcome, Timestamp};

use super::{postgres, sqlite};
use crate::engine::statement;
use crate::{Error, Store, unreadable};

/// The calls of one tool, in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolStatistics {
    /// Calls whose outcome the tool caused.
    pub calls: usize,
    pub succeeded: usize,
    /// In microseconds, of the calls that were carried out, from the fastest to the slowest.
    latencies: Vec<u32>,
}

/// The server, the tool, the outcome and the latency in microseconds of a call.
pub(super) type ToolCallRow = (String, String, String, i64);

/// The newest calls decide; counting more would take long on a busy gateway and say the same.
const MOST_ROWS: u32 = 200_000;

impl Store {
    /// Returns the statistics of all tools that were called since a moment.
    pub async fn tool_statistics(
        &self,
        since: Timestamp,
    ) -> Result<HashMap<Capability, ToolStatistics>, Error> {
        let rows = statement!(&self.engine, tool_calls(since, MOST_ROWS))?;
        let mut statistics = count(rows)?;
        statistics.retain(|_, tool| tool.calls > 0);
        for tool in statistics.values_mut() {
            tool.latencies.sort_unstable();
        }
        Ok(statistics)
    }
}

fn count(rows: Vec<ToolCallRow>) -> Result<HashMap<Capability, ToolStatistics>, Error> {
    let mut statistics: HashMap<Capability, ToolStatistics> = HashMap::new();
    for (server, name, outcome, latency) in rows {
        let outcome = Outcome::parse(&outcome).ok_or_else(|| unreadable("outcome", outcome))?;
        let capability = super::favourites::tool(server, name)?;
        let tool = statistics.entry(capability).or_default();
        tool.add(outcome, latency);
    }
    Ok(statistics)
}

impl ToolStatistics {
    /// Returns the time within which this share of the calls was done.
    pub fn latency(&self, share: f64) -> Option<Duration> {
        let last = self.latencies.len().checked_sub(1)?;
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        let micros = self.latencies[rank.saturating_sub(1).min(last)];
        Some(Duration::from_micros(micros.into()))
    }

    fn add(&mut self, outcome: Outcome, latency: i64) {
        self.calls += usize::from(is_caused_by_tool(outcome));
        self.succeeded += usize::from(outcome == Outcome::Ok);
        if is_carried_out(outcome) {
            let latency = u32::try_from(latency).unwrap_or(u32::MAX);
            self.latencies.push(latency);
        }
    }
}

fn is_caused_by_tool(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Ok
        | Outcome::ToolError
        | Outcome::TimedOut
        | Outcome::Refused
        | Outcome::Unavailable => true,
        Outcome::Denied
        | Outcome::Invalid
        | Outcome::Cancelled
        | Outcome::InputRequired
        | Outcome::Unfinished => false,
    }
}

/// Returns true if the server worked on the call, so that its latency says how fast the tool is.
fn is_carried_out(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Ok | Outcome::ToolError | Outcome::TimedOut
    )
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Kind, Purpose};

    use super::*;
    use crate::audit::tests::{records, seen};
    use crate::test_place::{TestPlace, each_engine};

    each_engine!(
        a_latency_is_the_time_within_which_a_share_of_the_calls_was_done,
        only_recent_calls_of_tools_count_and_only_outcomes_that_the_tool_caused,
    );

    fn milliseconds(tool: &ToolStatistics, share: f64) -> u128 {
        tool.latency(share).unwrap().as_millis()
    }

    async fn a_latency_is_the_time_within_which_a_share_of_the_calls_was_done(place: TestPlace) {
        let store = place.open().await;
        let mut rows: Vec<_> = (1..=100)
            .map(|number| {
                let mut call = seen(100, "acme", "git/log");
                call.latency = Duration::from_millis(number);
                call
            })
            .collect();
        rows.reverse();
        store.record(&records(rows)).await.unwrap();
        let statistics = store.tool_statistics(Timestamp(0)).await.unwrap();
        let tool = &statistics[&seen(0, "acme", "git/log").capability];
        assert_eq!((tool.calls, tool.succeeded), (100, 100));
        assert_eq!(
            [0.5, 0.95, 0.99, 1.0].map(|share| milliseconds(tool, share)),
            [50, 95, 99, 100]
        );
    }

    async fn only_recent_calls_of_tools_count_and_only_outcomes_that_the_tool_caused(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let mut rows: Vec<_> = Outcome::ALL
            .into_iter()
            .map(|outcome| {
                let mut call = seen(100, "acme", "git/log");
                call.outcome = outcome;
                call
            })
            .collect();
        rows.push(seen(99, "acme", "git/log"));
        let mut prompt = seen(100, "acme", "git/log");
        prompt.capability.kind = Kind::Prompt;
        rows.push(prompt);
        let mut denied = seen(100, "acme", "git/push");
        denied.outcome = Outcome::Denied;
        rows.push(denied);
        let mut measured = seen(100, "acme", "git/log");
        measured.purpose = Purpose::Measurement;
        rows.push(measured);
        store.record(&records(rows)).await.unwrap();

        let statistics = store.tool_statistics(Timestamp(100)).await.unwrap();
        assert_eq!(statistics.len(), 1, "{statistics:?}");
        let tool = &statistics[&seen(0, "acme", "git/log").capability];
        assert_eq!(
            (tool.calls, tool.succeeded, tool.latencies.len()),
            (5, 1, 3)
        );
    }
}
