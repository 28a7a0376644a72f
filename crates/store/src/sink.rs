//! Writes to the audit table off the hot path.
//!
//! Requests put what they saw into a bounded queue and go on; a task writes it in batches.
//! After each batch it lets the next one gather for a moment, so a quiet gateway writes at
//! once and a busy one does not spend its time on syncing the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kitbag_domain::Observation;
use tokio::sync::{mpsc, oneshot};

use crate::Store;

/// A cheap handle; clones feed the same queue. The writing task ends with the last of them.
#[derive(Debug, Clone)]
pub struct AuditSink {
    queue: mpsc::Sender<Observation>,
    asks: mpsc::Sender<Ask>,
    lost: Arc<AtomicU64>,
}

impl Store {
    /// Starts the writing task; to be called within a Tokio runtime.
    pub fn audit_sink(&self) -> AuditSink {
        AuditSink::start(self.clone(), CAPACITY)
    }
}

impl AuditSink {
    /// Never waits: if the disk cannot keep up, or after [`AuditSink::shutdown`], the
    /// observation is lost, which is counted and logged.
    pub fn observe(&self, observation: Observation) {
        if self.queue.try_send(observation).is_err() {
            let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
            // One line per doubling: logging every loss would make an overload worse.
            if lost.is_power_of_two() {
                tracing::warn!(lost, "the audit queue takes no more; observations are lost");
            }
        }
    }

    /// Resolves when everything observed before has been written.
    pub async fn flush(&self) {
        self.ask(Then::GoOn).await;
    }

    /// Like `flush`, and nothing observed later is taken in, by any clone.
    pub async fn shutdown(&self) {
        self.ask(Then::Stop).await;
    }

    /// How many observations could not be written since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// How many observations wait to be written.
    pub fn queued(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    fn start(store: Store, capacity: usize) -> Self {
        let (queue, observed) = mpsc::channel(capacity);
        let (asks, asked) = mpsc::channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        tokio::spawn(write(store, observed, asked, Arc::clone(&lost)));
        Self { queue, asks, lost }
    }

    async fn ask(&self, then: Then) {
        let (done, written) = oneshot::channel();
        if self.asks.send(Ask { then, done }).await.is_ok() {
            // Dropped unanswered only when the runtime itself goes down: nobody is left to tell.
            let _ = written.await;
        }
    }
}

const CAPACITY: usize = 16 * 1024;
const BATCH: usize = 1024;
/// The most that a crash can take from the audit.
const GATHER: Duration = Duration::from_millis(50);

/// A wish to see everything written that was observed until now.
#[derive(Debug)]
struct Ask {
    then: Then,
    done: oneshot::Sender<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Stop,
}

async fn write(
    store: Store,
    mut queue: mpsc::Receiver<Observation>,
    mut asks: mpsc::Receiver<Ask>,
    lost: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut asked: Option<Ask> = None;
    while !queue.is_closed() || !queue.is_empty() {
        if asked.is_none() {
            asked = tokio::select! {
                _ = queue.recv_many(&mut batch, BATCH) => None,
                ask = asks.recv() => ask,
            };
        }
        if asked.as_ref().is_some_and(|ask| ask.then == Then::Stop) {
            queue.close();
        }
        write_queued(&mut queue, &mut batch, &store, &lost).await;
        if let Some(ask) = asked {
            // Whoever asked may have stopped waiting.
            let _ = ask.done.send(());
        }
        asked = tokio::select! {
            () = tokio::time::sleep(GATHER) => None,
            ask = asks.recv() => ask,
        };
    }
}

/// Writes what is queued now; what comes meanwhile is for the next time.
async fn write_queued(
    queue: &mut mpsc::Receiver<Observation>,
    batch: &mut Vec<Observation>,
    store: &Store,
    lost: &AtomicU64,
) {
    let mut due = queue.len();
    while due > 0 || !batch.is_empty() {
        while due > 0 && batch.len() < BATCH {
            due -= 1;
            batch.extend(queue.try_recv().ok());
        }
        record(store, batch, lost).await;
        batch.clear();
    }
}

async fn record(store: &Store, observations: &[Observation], lost: &AtomicU64) {
    if let Err(error) = store.record(observations).await {
        let count = observations.len();
        lost.fetch_add(count as u64, Ordering::Relaxed);
        let error: &dyn std::error::Error = &error;
        tracing::error!(error, count, "observations could not be written and are lost");
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
        assert_eq!(written(&store).await, 3000);
    }

    // On a runtime with one thread the writing task cannot run between two observations.
    #[tokio::test(flavor = "current_thread")]
    async fn an_overflowing_queue_loses_and_counts_instead_of_blocking() {
        let (_directory, store) = store().await;
        let sink = AuditSink::start(store.clone(), 2);
        for at in 0..5 {
            sink.observe(seen(at, "acme", "git/log"));
        }
        assert_eq!(sink.lost(), 3);
        sink.flush().await;
        assert_eq!(written(&store).await, 2);
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
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_counted_as_lost() {
        let (_directory, store) = store().await;
        let sink = store.audit_sink();
        store.close().await;
        sink.observe(seen(1, "acme", "git/log"));
        sink.flush().await;
        assert_eq!(sink.lost(), 1);
    }
}
