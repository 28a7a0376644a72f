//! Computes success and latency of tools in a span of the audit, from the rows of their calls.

use std::collections::HashMap;
use std::time::Duration;

use kitbag_domain::{Capability, LatencyHistogram, NanoUsd, Outcome, Timestamp};

use crate::engine::row_struct::row_struct;
use crate::{Error, Store, unreadable_error};

/// The calls of one tool in figures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolStatistics {
    /// Calls whose outcome the tool caused.
    pub calls: u64,
    pub succeeded: u64,
    /// Latencies of the calls that were carried out.
    pub latencies: LatencyHistogram,
    /// The number of answers with counted tokens, and the sum of their tokens.
    pub answers: u64,
    pub tokens: u64,
    /// The number of calls with a known price, and the sum of their prices.
    pub priced: u64,
    pub spent: NanoUsd,
}

/// A part of the audit: rows written after one row and not after another, that happened between two
/// times (the second is exclusive).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSpan {
    pub after: i64,
    pub up_to: i64,
    pub since: Timestamp,
    pub until: Timestamp,
}

row_struct! {
    /// A tool call with the columns needed for counting.
    #[derive(Debug)]
    struct ToolCallRow {
        id: i64,
        server: String,
        name: String,
        outcome: String,
        latency_us: i64,
        tokens: Option<i64>,
        price_nano_usd: Option<i64>,
    }
}

/// The number of rows that are read at once; a busy gateway has millions a day.
const PAGE: i64 = 10_000;

impl AuditSpan {
    /// All rows that happened since a time.
    pub fn starting_at(since: Timestamp) -> Self {
        Self {
            after: 0,
            up_to: i64::MAX,
            since,
            until: Timestamp(i64::MAX),
        }
    }
}

impl Store {
    /// Returns the statistics of all tools called in a span.
    pub async fn tool_statistics(
        &self,
        span: &AuditSpan,
    ) -> Result<HashMap<Capability, ToolStatistics>, Error> {
        let (mut statistics, mut rest) = (HashMap::new(), span.clone());
        loop {
            let page: Vec<ToolCallRow> = self
                .engine
                .query(
                    "SELECT id, server, name, outcome, latency_us, tokens, price_nano_usd FROM audit
                     WHERE id > $1 AND id <= $2 AND at >= $3 AND at < $4
                     AND kind = 'tool' AND purpose = 'use' ORDER BY id LIMIT $5",
                )
                .bind(rest.after)
                .bind(rest.up_to)
                .bind(rest.since.0)
                .bind(rest.until.0)
                .bind(PAGE)
                .fetch_all("read tool statistics")
                .await?;
            let Some(last) = page.last() else { break };
            rest.after = last.id;
            for row in &page {
                let outcome = Outcome::parse(&row.outcome);
                let outcome = outcome.ok_or_else(|| unreadable_error("outcome", &row.outcome))?;
                let server = row.server.parse();
                let server = server.map_err(|_| unreadable_error("server name", &row.server))?;
                let tool = Capability::tool(server, row.name.clone());
                let tool: &mut ToolStatistics = statistics.entry(tool).or_default();
                tool.add(outcome, row);
            }
        }
        statistics.retain(|_, tool| tool.calls > 0);
        Ok(statistics)
    }

    /// Returns the smallest id of the rows that happened since a time.
    pub async fn first_audit_row_id(&self, since: Timestamp) -> Result<Option<i64>, Error> {
        self.engine
            .query("SELECT min(id) FROM audit WHERE at >= $1")
            .bind(since.0)
            .fetch_scalar("find the first audit row of a time span")
            .await
    }
}

impl ToolStatistics {
    fn add(&mut self, outcome: Outcome, row: &ToolCallRow) {
        self.calls += u64::from(is_caused_by_tool(outcome));
        self.succeeded += u64::from(outcome == Outcome::Ok);
        // Only if the server carried out the call does its latency measure the tool.
        if !matches!(
            outcome,
            Outcome::Ok | Outcome::ToolError | Outcome::TimedOut
        ) {
            return;
        }
        let latency = Duration::from_micros(row.latency_us.unsigned_abs());
        self.latencies.record(latency);
        if let Some(tokens) = row.tokens {
            self.answers += 1;
            self.tokens += tokens.unsigned_abs();
        }
        if let Some(price) = row.price_nano_usd {
            self.priced += 1;
            self.spent.0 = self.spent.0.saturating_add(price);
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

#[cfg(test)]
mod tests {
    use kitbag_domain::{Kind, Observation, Purpose};

    use super::*;
    use crate::audit::tests::{new_observation, records};
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(only_calls_of_tools_in_the_span_count_and_only_outcomes_that_the_tool_caused,);

    async fn only_calls_of_tools_in_the_span_count_and_only_outcomes_that_the_tool_caused(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let log = || new_observation(100, "acme", "git/log");
        let before = vec![new_observation(100, "acme", "git/log")];
        store.record_all(&records(before)).await.unwrap();
        let after = store.newest_audit_row_id().await.unwrap();
        let mut rows: Vec<_> = Outcome::ALL
            .into_iter()
            .map(|outcome| {
                let mut call = log();
                (call.outcome, call.cost.tokens) = (outcome, Some(7));
                call.cost.price = (outcome != Outcome::TimedOut).then_some(NanoUsd(500));
                call
            })
            .collect();
        rows.extend([
            new_observation(99, "acme", "git/log"),
            new_observation(200, "acme", "git/log"),
        ]);
        let mut prompt = log();
        prompt.capability.kind = Kind::Prompt;
        let denied = Observation {
            outcome: Outcome::Denied,
            ..new_observation(100, "acme", "git/push")
        };
        let measured = Observation {
            purpose: Purpose::Measurement,
            ..log()
        };
        rows.extend([prompt, denied, measured]);
        store.record_all(&records(rows)).await.unwrap();

        let span = AuditSpan {
            after,
            until: Timestamp(200),
            ..AuditSpan::starting_at(Timestamp(100))
        };
        let statistics = store.tool_statistics(&span).await.unwrap();
        assert_eq!(statistics.len(), 1, "{statistics:?}");
        let tool = &statistics[&log().capability];
        assert_eq!(
            (tool.calls, tool.succeeded, tool.latencies.count()),
            (5, 1, 3.0)
        );
        assert_eq!((tool.answers, tool.tokens), (3, 21));
        assert_eq!((tool.priced, tool.spent), (2, NanoUsd(1_000)));
        let first = store.first_audit_row_id(Timestamp(200)).await.unwrap();
        assert!(first > Some(after), "{first:?}");
    }
}
