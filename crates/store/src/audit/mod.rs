//! The audit: one row for each call, and for each other event.
//!
//! - [`sink`]: accepts rows off the hot path; `queue`: rows to be written
//! - `writer`: the writing task; `trouble_log`: its warnings
//! - [`query`]: filtered and paged reads; `pieces`: where a piece begins; [`row`]: one row
//! - [`tool_statistics`]: success and latency of tools; [`call_counts`]: all calls of a time span
//! - [`runs`]: the latest runs of programs; [`search_counts`]: searches of clients by day
//! - `selection`: the statement of a query; `glob`: name patterns as regular expressions
//! - `columns`: a record as columns; `sqlite`, `postgres`: the statements that write

pub mod call_counts;
mod columns;
mod glob;
mod pieces;
mod postgres;
pub mod query;
mod queue;
pub mod row;
pub mod runs;
pub mod search_counts;
mod selection;
pub mod sink;
mod sqlite;
pub mod tool_statistics;
mod trouble_log;
mod writer;

use std::time::Duration;

use kitbag_domain::{CallCost, Event, Inquiry, Observation, Outcome, RecordedArguments, Timestamp};

use crate::engine::{Engine, with_timeout};
use crate::private_file::random_bytes;
use crate::{Error, Store};

/// A call, an inquiry or an event to be written as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditRecord {
    Call(Observation),
    Inquiry(Inquiry),
    Event(Event),
}

/// The row of a call that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRowId(pub(crate) i64);

/// The end of a call whose row already exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallEnding {
    pub(crate) row: AuditRowId,
    pub(crate) outcome: Outcome,
    pub(crate) latency: Duration,
    pub(crate) cost: CallCost,
}

/// Rows that are written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct AuditBatch<'a> {
    pub(crate) records: Vec<&'a AuditRecord>,
    pub(crate) begun: Vec<&'a Observation>,
    pub(crate) ended: Vec<&'a CallEnding>,
}

/// Identifies a batch of one writer, so that the writer can check whether it was written.
#[derive(Debug)]
pub(crate) struct BatchMark {
    writer: String,
    number: i64,
}

#[derive(Debug)]
pub(crate) enum AuditWriteError {
    NotWritten(Error),
    /// The commit was not acknowledged, so the batch may or may not be written. `begun` has the rows
    /// that it would have written.
    Unacknowledged {
        begun: Vec<AuditRowId>,
        error: Error,
    },
}

impl BatchMark {
    /// The first batch of a new writer.
    fn for_new_writer() -> Self {
        Self {
            writer: blake3::Hash::from_bytes(random_bytes()).to_string(),
            number: 1,
        }
    }

    fn advance(&mut self) {
        self.number += 1;
    }
}

impl From<Error> for AuditWriteError {
    fn from(error: Error) -> Self {
        Self::NotWritten(error)
    }
}

impl From<AuditWriteError> for Error {
    fn from(error: AuditWriteError) -> Self {
        match error {
            AuditWriteError::NotWritten(error) | AuditWriteError::Unacknowledged { error, .. } => {
                error
            }
        }
    }
}

impl Store {
    /// Writes all of them or none.
    pub async fn record_all(&self, records: &[AuditRecord]) -> Result<(), Error> {
        let batch = AuditBatch {
            records: records.iter().collect(),
            ..AuditBatch::default()
        };
        self.write_batch(&batch, None).await?;
        Ok(())
    }

    /// Writes the whole batch or nothing. Returns the rows of the calls that have begun, in order.
    /// A writer that retries marks its batch.
    pub(crate) async fn write_batch(
        &self,
        batch: &AuditBatch<'_>,
        mark: Option<&BatchMark>,
    ) -> Result<Vec<AuditRowId>, AuditWriteError> {
        match &self.engine {
            Engine::Sqlite(it) => Ok(sqlite::write_batch(it, batch).await?),
            Engine::Postgres(it) => postgres::write_batch(it, batch, mark).await,
        }
    }

    /// Returns true if the batch with this mark is written. On SQLite no commit is in doubt.
    pub(crate) async fn is_written(&self, mark: &BatchMark) -> Result<bool, Error> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(false),
            Engine::Postgres(it) => {
                with_timeout(it.timeout(), postgres::is_written(it, mark)).await
            }
        }
    }

    /// Returns the hash that represents the arguments of a call in the audit.
    pub fn hash_arguments(&self, text: &str) -> String {
        self.key_cache.pepper().hash_arguments(text)
    }

    /// Removes up to `at_most` rows from before a time, and returns their number. Small portions let
    /// calls be recorded in between.
    pub async fn delete_audit_rows(&self, before: Timestamp, at_most: u32) -> Result<u64, Error> {
        // On PostgreSQL, rows that another gateway is deleting are left to it.
        let delete = self.engine.pick(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)",
            "DELETE FROM audit WHERE id = ANY (ARRAY (
                 SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))",
        );
        self.engine
            .query(delete)
            .bind(before.0)
            .bind(i64::from(at_most))
            .execute("delete old audit rows")
            .await
    }
}

impl From<Observation> for AuditRecord {
    fn from(observation: Observation) -> Self {
        Self::Call(observation)
    }
}

impl From<Inquiry> for AuditRecord {
    fn from(inquiry: Inquiry) -> Self {
        Self::Inquiry(inquiry)
    }
}

impl From<Event> for AuditRecord {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl AuditRecord {
    pub(crate) fn tenant_name(&self) -> &str {
        match self {
            Self::Call(call) => call.caller.tenant.as_str(),
            Self::Inquiry(inquiry) => inquiry.caller.tenant.as_str(),
            Self::Event(event) => event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
        }
    }

    /// Estimates its memory in bytes while it is queued.
    pub(crate) fn memory_size(&self) -> usize {
        let (name, texts, arguments) = match self {
            Self::Call(call) => (
                call.capability.name.as_str(),
                [
                    call.client.as_ref(),
                    call.origin.request.as_ref(),
                    call.origin.run.as_ref(),
                ],
                call.arguments.as_ref(),
            ),
            Self::Inquiry(inquiry) => (
                inquiry.subject.as_str(),
                [
                    inquiry.client.as_ref(),
                    inquiry.origin.request.as_ref(),
                    inquiry.detail.as_ref(),
                ],
                inquiry.arguments.as_ref(),
            ),
            Self::Event(event) => (
                event.subject.as_str(),
                [
                    event.client.as_ref(),
                    event.detail.as_ref(),
                    event.actor.as_ref(),
                ],
                None,
            ),
        };
        let texts = texts.into_iter().flatten().map(|text| text.as_str().len());
        let arguments = arguments.map_or(0, |it: &RecordedArguments| it.as_str().len());
        size_of::<Self>() + name.len() + texts.sum::<usize>() + arguments
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use kitbag_domain::{Caller, Capability, Origin, Purpose};

    use super::*;
    use crate::AuditQuery;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        old_rows_are_removed_a_few_at_a_time,
        more_rows_than_fit_one_statement_are_recorded_together,
        a_call_has_a_row_before_it_ends,
    );

    pub(crate) fn new_observation(at: i64, tenant: &str, capability: &str) -> Observation {
        let (server, name) = capability.split_once('/').unwrap();
        Observation {
            at: Timestamp(at),
            caller: Caller {
                tenant: tenant.parse().unwrap(),
                ..Caller::local()
            },
            client: None,
            origin: Origin::default(),
            purpose: Purpose::Use,
            capability: Capability::tool(server.parse().unwrap(), name),
            outcome: Outcome::Ok,
            latency: Duration::from_micros(1234),
            cost: CallCost::default(),
            arguments: None,
        }
    }

    pub(crate) const EVERYTHING: AuditQuery = AuditQuery::newest(u32::MAX);

    pub(crate) fn records(observations: impl IntoIterator<Item = Observation>) -> Vec<AuditRecord> {
        observations.into_iter().map(AuditRecord::Call).collect()
    }

    async fn old_rows_are_removed_a_few_at_a_time(place: TestPlace) {
        let store = place.open().await;
        let rows = (0..5).map(|at| new_observation(at, "acme", &format!("git/{at}")));
        store.record_all(&records(rows)).await.unwrap();
        assert_eq!(store.delete_audit_rows(Timestamp(3), 2).await.unwrap(), 2);
        assert_eq!(store.read_audit(&EVERYTHING).await.unwrap().len(), 3);
        assert_eq!(store.delete_audit_rows(Timestamp(3), 2).await.unwrap(), 1);
        assert_eq!(store.delete_audit_rows(Timestamp(3), 2).await.unwrap(), 0);
        assert_eq!(store.read_audit(&EVERYTHING).await.unwrap().len(), 2);
    }

    async fn more_rows_than_fit_one_statement_are_recorded_together(place: TestPlace) {
        let store = place.open().await;
        let many = records((0..1000).map(|at| new_observation(at, "acme", "git/log")));
        store.record_all(&many).await.unwrap();
        store.record_all(&[]).await.unwrap();
        assert_eq!(store.read_audit(&EVERYTHING).await.unwrap().len(), 1000);
    }

    async fn a_call_has_a_row_before_it_ends(place: TestPlace) {
        let store = place.open().await;
        let begun = Observation {
            outcome: Outcome::Unfinished,
            ..new_observation(1, "acme", "git/push")
        };
        let batch = AuditBatch {
            begun: vec![&begun],
            ..AuditBatch::default()
        };
        let rows = store.write_batch(&batch, None).await.unwrap();
        let there = store.read_audit(&EVERYTHING).await.unwrap();
        assert_eq!(
            (there[0].id, there[0].outcome),
            (rows[0].0, Outcome::Unfinished)
        );

        let ending = CallEnding {
            row: rows[0],
            outcome: Outcome::ToolError,
            latency: Duration::from_millis(7),
            cost: CallCost {
                tokens: Some(12),
                price: None,
            },
        };
        store
            .write_batch(
                &AuditBatch {
                    ended: vec![&ending],
                    ..AuditBatch::default()
                },
                None,
            )
            .await
            .unwrap();
        let there = store.read_audit(&EVERYTHING).await.unwrap();
        assert_eq!((there.len(), there[0].outcome), (1, Outcome::ToolError));
        assert_eq!(there[0].cost, ending.cost);
    }
}
