//! Writes to the audit table off the hot path, and loses no accepted record while the process
//! lives.
//!
//! Requests put their records into a bounded queue and continue; a task writes them in batches
//! (`writer`). A batch that cannot be written, because the disk is full or the database
//! unreachable, is retried until it can be.
//!
//! If the audit is required, a call begins with its row: [`AuditSink::begin_call`] returns when the
//! row is on disk. All calls that wait at the same time share one sync.

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::{CallCost, Event, Inquiry, Observation, Outcome};
use tokio::sync::oneshot;

use super::queue::{AuditQueue, QueueLimits, QueueRefusal, QueuedWrite};
use super::{AuditRecord, AuditRowId, CallEnding, writer};
use crate::Store;

/// A cheap handle; clones feed the same queue. The writing task ends with the last of them.
#[derive(Debug, Clone)]
pub struct AuditSink {
    producer: Arc<QueueProducer>,
}

/// The reasons why the row of a call could not be written before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditBeginError {
    #[error("the audit cannot be written")]
    NotWritten,
    #[error("too many calls are waiting to be recorded")]
    Full,
    #[error("recording the call timed out")]
    TooSlow,
    #[error("the gateway is shutting down")]
    Closing,
}

impl From<QueueRefusal> for AuditBeginError {
    fn from(refusal: QueueRefusal) -> Self {
        match refusal {
            QueueRefusal::Full => Self::Full,
            QueueRefusal::Closed => Self::Closing,
        }
    }
}

impl Store {
    /// Starts the writing task. Requires a Tokio runtime.
    pub fn start_audit_sink(&self) -> AuditSink {
        AuditSink::start(self.clone(), LIMITS)
    }
}

impl AuditSink {
    /// Never waits: if the queue is full, or after [`AuditSink::shutdown`], the observation is
    /// lost, which is counted and logged.
    pub fn record_call(&self, observation: Observation) {
        self.put(QueuedWrite::Record(AuditRecord::Call(observation)));
    }

    /// Like `record_call`, for an inquiry.
    pub fn record_inquiry(&self, inquiry: Inquiry) {
        self.put(QueuedWrite::Record(AuditRecord::Inquiry(inquiry)));
    }

    /// Like `record_call`, for an event.
    pub fn record_event(&self, event: Event) {
        self.put(QueuedWrite::Record(AuditRecord::Event(event)));
    }

    /// Writes the row of a call as unfinished, and returns when that is done or has failed.
    pub async fn begin_call(
        &self,
        observation: Observation,
    ) -> Result<AuditRowId, AuditBeginError> {
        let observation = Observation {
            outcome: Outcome::Unfinished,
            ..observation
        };
        let (done, answer) = oneshot::channel();
        self.producer
            .0
            .put(QueuedWrite::Begin { observation, done })?;
        let limit = match self.is_failing() {
            true => FAILING_TIMEOUT,
            false => BEGIN_TIMEOUT,
        };
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(Ok(row))) => Ok(row),
            Ok(Ok(Err(()))) => Err(AuditBeginError::NotWritten),
            Ok(Err(_)) => Err(AuditBeginError::Closing),
            Err(_) => Err(AuditBeginError::TooSlow),
        }
    }

    /// Completes the row of a call that had begun. Never waits.
    pub fn end_call(&self, row: AuditRowId, outcome: Outcome, latency: Duration, cost: CallCost) {
        self.put(QueuedWrite::End(CallEnding {
            row,
            outcome,
            latency,
            cost,
        }));
    }

    /// Resolves when everything recorded before has been written.
    pub async fn flush(&self) {
        self.producer.0.wait_until_settled().await;
    }

    /// Closes the queue for all clones. Resolves when everything recorded before has been written,
    /// or was dropped because it could not be written for some seconds.
    pub async fn shutdown(&self) {
        self.producer.0.close();
        self.producer.0.wait_until_settled().await;
    }

    /// The number of observations lost since the start.
    pub fn lost_count(&self) -> u64 {
        self.producer.0.lost_count()
    }

    /// The number of records to be written.
    pub fn queued_count(&self) -> usize {
        self.producer.0.len()
    }

    /// True if the last attempt to write failed.
    pub fn is_failing(&self) -> bool {
        self.producer.0.is_failing()
    }

    fn start(store: Store, limits: QueueLimits) -> Self {
        let queue = Arc::new(AuditQueue::new(limits));
        tokio::spawn(writer::run_writer(store, queue.clone()));
        Self {
            producer: Arc::new(QueueProducer(queue)),
        }
    }

    fn put(&self, write: QueuedWrite) {
        // The writing task logs losses; a line for each of them would make an overload worse.
        if self.producer.0.put(write).is_err() {
            self.producer.0.count_lost(1);
        }
    }
}

/// The producing end of the queue. Dropping the last one closes the queue.
#[derive(Debug)]
struct QueueProducer(Arc<AuditQueue>);

impl Drop for QueueProducer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Some seconds of a busy gateway, and less memory than one large result.
const LIMITS: QueueLimits = QueueLimits {
    entries: 16 * 1024,
    bytes: 16 * 1024 * 1024,
    shutdown_timeout: Duration::from_secs(5),
};
/// How long a call waits for its row, including writes of other processes.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The same after a failed write: long enough for the next attempt, unless the database is
/// unreachable, and then calls should not pile up.
const FAILING_TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::{EVERYTHING, new_observation};
    use crate::engine::Engine;
    use crate::test_store::{TestPlace, each_engine, execute};

    each_engine!(
        a_flush_returns_when_every_observation_is_written,
        an_overflowing_queue_loses_and_counts_instead_of_blocking,
        one_tenant_cannot_fill_the_queue_for_the_others,
        the_queue_is_bounded_by_bytes_too,
        a_shutdown_writes_queued_records_and_accepts_no_more,
        records_that_cannot_be_written_before_the_end_are_counted_as_lost,
        records_that_could_not_be_written_for_a_while_are_written_later,
        a_call_begins_only_after_its_row_is_written,
        a_call_is_rejected_by_the_first_failed_write_however_many_rows_are_queued_before_it,
        the_row_of_a_caller_that_left_before_its_call_began_is_marked,
    );

    async fn count_written_rows(store: &Store) -> usize {
        store.read_audit(&EVERYTHING).await.unwrap().len()
    }

    async fn outcomes(store: &Store) -> Vec<Outcome> {
        store
            .read_audit(&EVERYTHING)
            .await
            .unwrap()
            .into_iter()
            .map(|row| row.outcome)
            .collect()
    }

    /// Limits that a test reaches before the writer has begun to write.
    const FEW: QueueLimits = QueueLimits {
        entries: 4,
        bytes: 1 << 20,
        shutdown_timeout: Duration::from_millis(300),
    };

    /// Makes every insert fail with a trigger, as a full disk would.
    async fn close_table(store: &Store) {
        let statements: &[&str] = match &store.engine {
            Engine::Sqlite(_) => &[
                "CREATE TRIGGER closed BEFORE INSERT ON audit BEGIN SELECT RAISE(ROLLBACK, 'closed'); END",
            ],
            Engine::Postgres(_) => &[
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
                 AS 'BEGIN RAISE EXCEPTION ''closed''; END'",
                "CREATE TRIGGER closed BEFORE INSERT ON audit EXECUTE FUNCTION refuse()",
            ],
        };
        for statement in statements {
            execute(store, statement).await;
        }
    }

    async fn open_table(store: &Store) {
        let statement = match &store.engine {
            Engine::Sqlite(_) => "DROP TRIGGER closed",
            Engine::Postgres(_) => "DROP FUNCTION refuse CASCADE",
        };
        execute(store, statement).await;
    }

    async fn a_flush_returns_when_every_observation_is_written(place: TestPlace) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        for at in 0..3000 {
            sink.clone()
                .record_call(new_observation(at, "acme", "git/log"));
        }
        sink.flush().await;
        assert_eq!(
            (count_written_rows(&store).await, sink.lost_count()),
            (3000, 0)
        );
        sink.flush().await;
        assert_eq!(
            (count_written_rows(&store).await, sink.queued_count()),
            (3000, 0)
        );
    }

    // The runtime has one thread, so that the writing task cannot run between two observations.
    async fn an_overflowing_queue_loses_and_counts_instead_of_blocking(place: TestPlace) {
        let store = place.open().await;
        let sink = AuditSink::start(store.clone(), FEW);
        for (at, tenant) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
            sink.record_call(new_observation(at as i64, tenant, "git/log"));
        }
        assert_eq!(sink.lost_count(), 2);
        sink.flush().await;
        assert_eq!(count_written_rows(&store).await, 4);
    }

    async fn one_tenant_cannot_fill_the_queue_for_the_others(place: TestPlace) {
        let store = place.open().await;
        let sink = AuditSink::start(store.clone(), FEW);
        for at in 0..100 {
            sink.record_call(new_observation(at, "low", "git/log"));
        }
        assert_eq!(sink.lost_count(), 98);
        sink.record_call(new_observation(1, "high", "git/log"));
        assert_eq!(sink.lost_count(), 98);
        sink.flush().await;
        sink.record_call(new_observation(1, "low", "git/log"));
        assert_eq!(sink.lost_count(), 98, "what is written counts no more");
    }

    async fn the_queue_is_bounded_by_bytes_too(place: TestPlace) {
        let store = place.open().await;
        let sink = AuditSink::start(
            store.clone(),
            QueueLimits {
                entries: 1 << 20,
                bytes: 10_000,
                ..FEW
            },
        );
        for at in 0..1000 {
            sink.record_call(new_observation(
                at,
                "acme",
                &format!("git/{}", "x".repeat(200)),
            ));
        }
        assert!(
            (1..40).contains(&sink.queued_count()),
            "{}",
            sink.queued_count()
        );
        assert_eq!(sink.lost_count() as usize + sink.queued_count(), 1000);
    }

    async fn a_shutdown_writes_queued_records_and_accepts_no_more(place: TestPlace) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        sink.record_call(new_observation(1, "acme", "git/log"));
        sink.shutdown().await;
        sink.record_call(new_observation(2, "acme", "git/log"));
        sink.flush().await;
        sink.shutdown().await;
        assert_eq!(
            (count_written_rows(&store).await, sink.lost_count()),
            (1, 1)
        );
        assert_eq!(
            sink.begin_call(new_observation(1, "acme", "git/log")).await,
            Err(AuditBeginError::Closing)
        );
    }

    async fn records_that_cannot_be_written_before_the_end_are_counted_as_lost(place: TestPlace) {
        let store = place.open().await;
        let sink = AuditSink::start(store.clone(), FEW);
        store.close().await;
        sink.record_call(new_observation(1, "acme", "git/log"));
        sink.shutdown().await;
        assert_eq!(sink.lost_count(), 1);
    }

    async fn records_that_could_not_be_written_for_a_while_are_written_later(place: TestPlace) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        close_table(&store).await;
        for at in 0..50 {
            sink.record_call(new_observation(at, "acme", "git/log"));
        }
        while !sink.is_failing() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(count_written_rows(&store).await, 0);
        open_table(&store).await;
        sink.flush().await;
        assert_eq!(
            (
                count_written_rows(&store).await,
                sink.lost_count(),
                sink.is_failing()
            ),
            (50, 0, false)
        );
    }

    async fn a_call_begins_only_after_its_row_is_written(place: TestPlace) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        let row = sink
            .begin_call(new_observation(1, "acme", "git/push"))
            .await
            .unwrap();
        assert_eq!(outcomes(&store).await, [Outcome::Unfinished]);
        sink.end_call(
            row,
            Outcome::Ok,
            Duration::from_millis(3),
            CallCost::default(),
        );
        sink.flush().await;
        assert_eq!(outcomes(&store).await, [Outcome::Ok]);

        close_table(&store).await;
        assert_eq!(
            sink.begin_call(new_observation(2, "acme", "git/push"))
                .await,
            Err(AuditBeginError::NotWritten)
        );
        open_table(&store).await;
        sink.begin_call(new_observation(3, "acme", "git/push"))
            .await
            .unwrap();
        assert_eq!(outcomes(&store).await, [Outcome::Unfinished, Outcome::Ok]);
    }

    async fn a_call_is_rejected_by_the_first_failed_write_however_many_rows_are_queued_before_it(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        close_table(&store).await;
        // More than one batch.
        for at in 0..3000 {
            sink.record_call(new_observation(at, "acme", "git/log"));
        }
        assert_eq!(
            sink.begin_call(new_observation(3000, "acme", "git/push"))
                .await,
            Err(AuditBeginError::NotWritten)
        );
        open_table(&store).await;
        sink.begin_call(new_observation(3001, "acme", "git/push"))
            .await
            .unwrap();
        assert_eq!(count_written_rows(&store).await, 3001);
    }

    async fn the_row_of_a_caller_that_left_before_its_call_began_is_marked(place: TestPlace) {
        let store = place.open().await;
        let sink = store.start_audit_sink();
        let beginning = sink.begin_call(new_observation(1, "acme", "git/push"));
        // Polled once, so that it waits in the queue, and dropped.
        tokio::select! {
            biased;
            row = beginning => panic!("the row was not written yet: {row:?}"),
            () = std::future::ready(()) => {}
        }
        sink.flush().await;
        sink.flush().await;
        assert_eq!(outcomes(&store).await, [Outcome::Cancelled]);
    }
}
