//! Writes to the audit table off the hot path, and loses nothing it has taken in while the
//! process lives.
//!
//! Requests put what they saw into a bounded queue and go on; a task writes it in batches.
//! After each batch it lets the next one gather for a moment, so a quiet gateway writes at
//! once and a busy one does not spend its time on syncing the disk. A batch that cannot be
//! written, because the disk is full, say, is tried again until it can be.
//!
//! Where the audit is required a call begins with its row: [`AuditSink::begin`] comes back when
//! that is on the disk. All calls that wait at the same time share one sync.

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::{Event, Observation, Outcome};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::audit::{Ending, Record, RowId};
use crate::audit_queue::{Item, Limits, Queue, Refused, together};
use crate::{Error, Store};

/// A cheap handle; clones feed the same queue. The writing task ends with the last of them.
#[derive(Debug, Clone)]
pub struct AuditSink {
    feed: Arc<Feed>,
}

/// Why a call that must be on record before it goes out cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unrecorded {
    #[error("the audit cannot be written at the moment")]
    NotWritten,
    #[error("more calls wait to be recorded than may wait")]
    Full,
    #[error("it took too long to record the call")]
    TooSlow,
    #[error("the gateway is closing")]
    Closing,
}

impl Store {
    /// Starts the writing task; to be called within a Tokio runtime.
    pub fn audit_sink(&self) -> AuditSink {
        AuditSink::start(self.clone(), LIMITS)
    }
}

impl AuditSink {
    /// Never waits: if the queue is full, or after [`AuditSink::shutdown`], the observation is
    /// lost, which is counted and logged.
    pub fn observe(&self, observation: Observation) {
        self.put(Record::Call(observation));
    }

    /// Like `observe`, for what is no call.
    pub fn note(&self, event: Event) {
        self.put(Record::Event(event));
    }

    /// Comes back when the call is on record as unfinished, or cannot be.
    pub async fn begin(&self, observation: Observation) -> Result<RowId, Unrecorded> {
        let observation = Observation {
            outcome: Outcome::Unfinished,
            ..observation
        };
        let (done, answer) = oneshot::channel();
        self.feed
            .0
            .put(Item::Begin { observation, done })
            .map_err(|refused| match refused {
                Refused::Full => Unrecorded::Full,
                Refused::Closed => Unrecorded::Closing,
            })?;
        match tokio::time::timeout(BEGIN_PATIENCE, answer).await {
            Ok(Ok(Ok(row))) => Ok(row),
            Ok(Ok(Err(()))) => Err(Unrecorded::NotWritten),
            Ok(Err(_)) => Err(Unrecorded::Closing),
            Err(_) => Err(Unrecorded::TooSlow),
        }
    }

    /// Completes the row of a call that had begun. Never waits.
    pub fn end(&self, row: RowId, outcome: Outcome, latency: Duration) {
        if self
            .feed
            .0
            .put(Item::End(Ending {
                row,
                outcome,
                latency,
            }))
            .is_err()
        {
            self.feed.0.count_lost(1);
        }
    }

    /// Resolves when everything observed before has been written.
    pub async fn flush(&self) {
        self.feed.0.settled().await;
    }

    /// Takes nothing in any more, from any clone, and resolves when everything observed before
    /// has been written, or could not be for some seconds and was given up.
    pub async fn shutdown(&self) {
        self.feed.0.close();
        self.feed.0.settled().await;
    }

    /// How many observations could not be written since the start.
    pub fn lost(&self) -> u64 {
        self.feed.0.lost()
    }

    /// How many wait to be written.
    pub fn queued(&self) -> usize {
        self.feed.0.len()
    }

    /// Whether the last attempt to write came to nothing.
    pub fn is_failing(&self) -> bool {
        self.feed.0.is_failing()
    }

    fn start(store: Store, limits: Limits) -> Self {
        let queue = Arc::new(Queue::new(limits));
        tokio::spawn(write(store, queue.clone()));
        Self {
            feed: Arc::new(Feed(queue)),
        }
    }

    fn put(&self, record: Record) {
        // The writing task tells of losses; one line for each would make an overload worse.
        if self.feed.0.put(Item::Record(record)).is_err() {
            self.feed.0.count_lost(1);
        }
    }
}

/// The end of the queue that records are put into; without it there will be no more of them.
#[derive(Debug)]
struct Feed(Arc<Queue>);

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Some seconds of a busy gateway, and less memory than one large result.
const LIMITS: Limits = Limits {
    entries: 16 * 1024,
    bytes: 16 * 1024 * 1024,
    patience: Duration::from_secs(5),
};
const BATCH: usize = 1024;
/// The most that a crash can take from the audit where it is not required.
const GATHER: Duration = Duration::from_millis(50);
/// How long a call waits for its row. Another process that writes is waited for, too.
const BEGIN_PATIENCE: Duration = Duration::from_secs(10);
/// A disk that was full a moment ago is asked again soon at first, then less and less often.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(2);
/// How often losses and failures are told while they last.
const TELL_EVERY: Duration = Duration::from_secs(60);

async fn write(store: Store, queue: Arc<Queue>) {
    let mut alarm = Alarm::default();
    let mut retry = FIRST_RETRY;
    while queue.has_work().await {
        let batch = queue.take(BATCH);
        match store.write_audit(&together(&batch)).await {
            Ok(rows) => {
                queue.written(batch, rows);
                retry = FIRST_RETRY;
                alarm.worked(&queue);
                wait(GATHER, &queue).await;
            }
            Err(error) => {
                queue.failed(batch);
                alarm.failed(&queue, &error);
                if queue.give_up_at().is_some_and(|end| Instant::now() >= end) {
                    break;
                }
                // Also for calls that wait for their row the disk is not asked without a pause.
                tokio::time::sleep(FIRST_RETRY).await;
                wait(retry, &queue).await;
                retry = (retry * 2).min(LAST_RETRY);
            }
        }
    }
    let given_up = queue.give_up();
    if given_up > 0 {
        tracing::error!(
            given_up,
            lost = queue.lost(),
            "records of the audit could not be written and are lost"
        );
    }
}

/// Waits, unless somebody wants to see something written.
async fn wait(pause: Duration, queue: &Queue) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = queue.urgent() => {}
    }
}

/// Tells the operator of trouble at once, and then again now and then.
#[derive(Debug, Default)]
struct Alarm {
    told_at: Option<Instant>,
    lost_told: u64,
    failing: bool,
}

impl Alarm {
    fn failed(&mut self, queue: &Queue, error: &Error) {
        if !self.failing || self.is_due() {
            let error: &dyn std::error::Error = error;
            let (waiting, lost) = (queue.len(), queue.lost());
            tracing::error!(
                error,
                waiting,
                lost,
                "the audit cannot be written; it is tried again"
            );
            self.told(lost);
        }
        self.failing = true;
    }

    fn worked(&mut self, queue: &Queue) {
        let lost = queue.lost();
        if lost > self.lost_told && (self.failing || self.is_due()) {
            tracing::error!(
                lost,
                "records of the audit were lost, because too many waited to be written"
            );
            self.told(lost);
        }
        if std::mem::take(&mut self.failing) {
            tracing::warn!("the audit is written again");
            self.told_at = None;
        }
    }

    fn told(&mut self, lost: u64) {
        (self.told_at, self.lost_told) = (Some(Instant::now()), lost);
    }

    fn is_due(&self) -> bool {
        self.told_at.is_none_or(|at| at.elapsed() >= TELL_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::{EVERYTHING, seen};
    use crate::tests::store;

    async fn written(store: &Store) -> usize {
        store.audit(&EVERYTHING).await.unwrap().len()
    }

    async fn outcomes(store: &Store) -> Vec<Outcome> {
        store
            .audit(&EVERYTHING)
            .await
            .unwrap()
            .into_iter()
            .map(|row| row.outcome)
            .collect()
    }

    /// As many as the writer may not have begun to write.
    const FEW: Limits = Limits {
        entries: 4,
        bytes: 1 << 20,
        patience: Duration::from_millis(300),
    };

    /// Lets no row into the table, as a full disk would not: a trigger refuses each.
    async fn close_table(store: &Store) {
        let trigger = "CREATE TRIGGER closed BEFORE INSERT ON audit BEGIN SELECT RAISE(ROLLBACK, 'closed'); END";
        sqlx::query(trigger)
            .execute(&store.sqlite.writer)
            .await
            .unwrap();
    }

    async fn open_table(store: &Store) {
        sqlx::query("DROP TRIGGER closed")
            .execute(&store.sqlite.writer)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_flush_returns_when_all_that_was_observed_is_written() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        for at in 0..3000 {
            sink.clone().observe(seen(at, "acme", "git/log"));
        }
        sink.flush().await;
        assert_eq!((written(&store).await, sink.lost()), (3000, 0));
        sink.flush().await;
        assert_eq!((written(&store).await, sink.queued()), (3000, 0));
    }

    // On a runtime with one thread the writing task cannot run between two observations.
    #[tokio::test(flavor = "current_thread")]
    async fn an_overflowing_queue_loses_and_counts_instead_of_blocking() {
        let (_directory, store) = store().await;
        let sink = AuditSink::start(store.clone(), FEW);
        for (at, tenant) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
            sink.observe(seen(at as i64, tenant, "git/log"));
        }
        assert_eq!(sink.lost(), 2);
        sink.flush().await;
        assert_eq!(written(&store).await, 4);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_tenant_cannot_fill_the_queue_for_the_others() {
        let (_directory, store) = store().await;
        let sink = AuditSink::start(store.clone(), FEW);
        for at in 0..100 {
            sink.observe(seen(at, "low", "git/log"));
        }
        assert_eq!(sink.lost(), 98);
        sink.observe(seen(1, "high", "git/log"));
        assert_eq!(sink.lost(), 98);
        sink.flush().await;
        sink.observe(seen(1, "low", "git/log"));
        assert_eq!(sink.lost(), 98, "what is written counts no more");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_queue_is_bounded_by_bytes_too() {
        let (_directory, store) = store().await;
        let sink = AuditSink::start(
            store.clone(),
            Limits {
                entries: 1 << 20,
                bytes: 10_000,
                ..FEW
            },
        );
        for at in 0..1000 {
            sink.observe(seen(at, "acme", &format!("git/{}", "x".repeat(200))));
        }
        assert!((1..40).contains(&sink.queued()), "{}", sink.queued());
        assert_eq!(sink.lost() as usize + sink.queued(), 1000);
    }

    #[tokio::test]
    async fn a_shutdown_writes_what_is_queued_and_takes_no_more() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        sink.observe(seen(1, "acme", "git/log"));
        sink.shutdown().await;
        sink.observe(seen(2, "acme", "git/log"));
        sink.flush().await;
        sink.shutdown().await;
        assert_eq!((written(&store).await, sink.lost()), (1, 1));
        assert_eq!(
            sink.begin(seen(1, "acme", "git/log")).await,
            Err(Unrecorded::Closing)
        );
    }

    #[tokio::test]
    async fn what_cannot_be_written_to_the_end_is_counted_as_lost() {
        let (_directory, store) = store().await;
        let sink = AuditSink::start(store.clone(), FEW);
        store.close().await;
        sink.observe(seen(1, "acme", "git/log"));
        sink.shutdown().await;
        assert_eq!(sink.lost(), 1);
    }

    #[tokio::test]
    async fn what_could_not_be_written_for_a_while_is_written_later() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        close_table(&store).await;
        for at in 0..50 {
            sink.observe(seen(at, "acme", "git/log"));
        }
        while !sink.is_failing() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(written(&store).await, 0);
        open_table(&store).await;
        sink.flush().await;
        assert_eq!(
            (written(&store).await, sink.lost(), sink.is_failing()),
            (50, 0, false)
        );
    }

    #[tokio::test]
    async fn a_call_begins_when_its_row_is_there_and_not_before() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        let row = sink.begin(seen(1, "acme", "git/push")).await.unwrap();
        assert_eq!(outcomes(&store).await, [Outcome::Unfinished]);
        sink.end(row, Outcome::Ok, Duration::from_millis(3));
        sink.flush().await;
        assert_eq!(outcomes(&store).await, [Outcome::Ok]);

        close_table(&store).await;
        assert_eq!(
            sink.begin(seen(2, "acme", "git/push")).await,
            Err(Unrecorded::NotWritten)
        );
        open_table(&store).await;
        sink.begin(seen(3, "acme", "git/push")).await.unwrap();
        assert_eq!(outcomes(&store).await, [Outcome::Unfinished, Outcome::Ok]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_row_of_a_caller_that_left_before_its_call_began_says_so() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        let beginning = sink.begin(seen(1, "acme", "git/push"));
        // Polled once, so that it waits in the queue, and dropped.
        assert!(
            tokio::time::timeout(Duration::ZERO, beginning)
                .await
                .is_err()
        );
        sink.flush().await;
        sink.flush().await;
        assert_eq!(outcomes(&store).await, [Outcome::Cancelled]);
    }
}
