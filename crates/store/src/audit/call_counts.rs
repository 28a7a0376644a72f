//! Counts the calls of a time span by outcome, with their latencies and tokens, in one statement.

use std::time::Duration;

use kitbag_domain::{LatencyHistogram, Outcome, Timestamp};

use super::columns::CALL;
use crate::engine::row_struct::row_struct;
use crate::{Error, Store, unreadable_error};

/// All calls of a time span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallCounts {
    pub succeeded: u64,
    /// Calls that the tool or its server did not carry out as requested.
    pub failed: u64,
    /// Calls that were denied or invalid, for which the tool is not to blame.
    pub rejected: u64,
    /// Calls that were cancelled, wait for input, or have no known end.
    pub unfinished: u64,
    /// Latencies of the calls that were carried out.
    pub latencies: LatencyHistogram,
    /// The tokens of all answers, including those of searches and programs.
    pub tokens: u64,
}

row_struct! {
    /// Rows of one outcome whose latencies have the same two leading digits.
    #[derive(Debug)]
    struct CountRow {
        event: String,
        outcome: String,
        digits: i64,
        head: String,
        calls: i64,
        tokens: i64,
    }
}

impl Store {
    /// Counts the calls between two times; the second is exclusive.
    pub async fn count_calls(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<CallCounts, Error> {
        // A logarithm would be shorter, but SQLite has it only if it was built with it.
        let rows: Vec<CountRow> = self
            .engine
            .query(
                "SELECT event, outcome, CAST(length(CAST(latency_us AS text)) AS bigint) AS digits,
                 substr(CAST(latency_us AS text), 1, 2) AS head, count(*) AS calls,
                 CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens
                 FROM audit WHERE at >= $1 AND at < $2 AND purpose = 'use'
                 GROUP BY event, outcome, digits, head",
            )
            .bind(since.0)
            .bind(until.0)
            .fetch_all("count calls")
            .await?;
        let mut counts = CallCounts::default();
        for row in &rows {
            counts.add(row)?;
        }
        Ok(counts)
    }
}

impl CallCounts {
    pub fn calls(&self) -> u64 {
        self.succeeded + self.failed + self.rejected + self.unfinished
    }

    pub fn add_all(&mut self, more: &Self) {
        self.succeeded += more.succeeded;
        self.failed += more.failed;
        self.rejected += more.rejected;
        self.unfinished += more.unfinished;
        self.latencies.add(&more.latencies);
        self.tokens += more.tokens;
    }

    fn add(&mut self, row: &CountRow) -> Result<(), Error> {
        self.tokens += row.tokens.unsigned_abs();
        if row.event != CALL {
            return Ok(());
        }
        let calls = row.calls.unsigned_abs();
        let outcome = Outcome::parse(&row.outcome);
        match outcome.ok_or_else(|| unreadable_error("outcome", &row.outcome))? {
            Outcome::Ok => self.succeeded += calls,
            Outcome::ToolError | Outcome::Refused | Outcome::TimedOut | Outcome::Unavailable => {
                self.failed += calls;
            }
            Outcome::Denied | Outcome::Invalid => {
                self.rejected += calls;
                return Ok(());
            }
            Outcome::Cancelled | Outcome::InputRequired | Outcome::Unfinished => {
                self.unfinished += calls;
                return Ok(());
            }
        }
        self.latencies.record_many(row.latency(), calls);
        Ok(())
    }
}

impl CountRow {
    /// Returns the latency to two digits.
    fn latency(&self) -> Duration {
        let digits = u32::try_from(self.digits).unwrap_or_default();
        let head: u64 = self.head.parse().unwrap_or_default();
        Duration::from_micros(head.saturating_mul(10_u64.saturating_pow(digits.saturating_sub(2))))
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Observation, Purpose};

    use super::*;
    use crate::audit::tests::{new_observation, records};
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(calls_of_a_span_are_counted_by_outcome_with_their_latencies_and_tokens,);

    async fn calls_of_a_span_are_counted_by_outcome_with_their_latencies_and_tokens(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let mut rows: Vec<Observation> = Outcome::ALL
            .into_iter()
            .map(|outcome| {
                let mut call = new_observation(100, "acme", "git/log");
                (call.outcome, call.cost.tokens) = (outcome, Some(7));
                call.latency = Duration::from_millis(250);
                call
            })
            .collect();
        rows.extend([99, 200].map(|at| new_observation(at, "acme", "git/log")));
        rows.push(Observation {
            purpose: Purpose::Measurement,
            ..new_observation(100, "acme", "git/log")
        });
        store.record_all(&records(rows)).await.unwrap();
        let counts = store.count_calls(Timestamp(100), Timestamp(200)).await;
        let counts = counts.unwrap();
        let CallCounts {
            succeeded,
            failed,
            rejected,
            unfinished,
            ..
        } = counts;
        assert_eq!((succeeded, failed, rejected, unfinished), (1, 4, 2, 3));
        assert_eq!((counts.calls(), counts.tokens), (10, 70));
        let median = counts.latencies.quantile(0.5).unwrap().as_secs_f64();
        assert!((0.25..0.28).contains(&median), "{median}");
    }
}
