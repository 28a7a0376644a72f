//! Counts searches and successful tool calls of clients in a span of time.

use kitbag_domain::Timestamp;

use crate::engine::row_struct::row_struct;
use crate::{Error, Store};

/// Searches and successful tool calls in a span of time, without those of Kitbag's own commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchCounts {
    pub searches: u64,
    pub calls: u64,
}

row_struct! {
    struct CountRow {
        event: String,
        rows: i64,
    }
}

impl Store {
    /// Counts the searches and calls since a time and before another.
    pub async fn search_counts(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<SearchCounts, Error> {
        // The index by time leads to the rows of the span.
        let rows: Vec<CountRow> = self
            .engine
            .query(
                "SELECT event, count(*) AS rows FROM audit
                 WHERE at >= $1 AND at < $2 AND purpose = 'use' AND outcome = 'ok'
                 AND (event = 'search' OR (event = 'call' AND kind = 'tool'))
                 AND (client IS NULL OR client NOT LIKE 'kitbag %') GROUP BY event",
            )
            .bind(since.0)
            .bind(until.0)
            .fetch_all("count searches and calls")
            .await?;
        let count = |event: &str| {
            let found = rows.iter().find(|row| row.event == event);
            found.map_or(0, |row| row.rows.cast_unsigned())
        };
        Ok(SearchCounts {
            searches: count("search"),
            calls: count("call"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_domain::{CallCost, Inquiry, InquiryKind, Origin, Outcome, Purpose, ShortText};

    use super::*;
    use crate::AuditRecord;
    use crate::audit::tests::new_observation;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(only_searches_and_successful_calls_of_clients_count);

    async fn only_searches_and_successful_calls_of_clients_count(place: TestPlace) {
        let store = place.open().await;
        let search = |at: i64, client: &str| {
            AuditRecord::from(Inquiry {
                at: Timestamp(at),
                kind: InquiryKind::Search,
                caller: new_observation(1, "acme", "git/log").caller,
                client: Some(ShortText::truncate(client)),
                origin: Origin::default(),
                purpose: Purpose::Use,
                subject: ShortText::truncate("search"),
                outcome: Outcome::Ok,
                latency: Duration::ZERO,
                cost: CallCost::default(),
                arguments: None,
                detail: None,
            })
        };
        let mut failed = new_observation(5, "acme", "git/log");
        failed.outcome = Outcome::TimedOut;
        let records = [
            search(1, "claude"),
            search(5, "claude"),
            search(6, "kitbag search"),
            search(9, "claude"),
            AuditRecord::from(new_observation(5, "acme", "git/log")),
            AuditRecord::from(failed),
        ];
        store.record_all(&records).await.unwrap();
        let counts = store
            .search_counts(Timestamp(2), Timestamp(9))
            .await
            .unwrap();
        assert_eq!(
            counts,
            SearchCounts {
                searches: 1,
                calls: 1
            }
        );
    }
}
