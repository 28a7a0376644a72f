//! The task that writes the rows of the queue, a batch at a time.
//!
//! After each batch it lets the next one gather for a moment, so a quiet gateway writes at once and
//! a busy one does not spend its time on disk syncs. A batch that cannot be written is retried with
//! growing delays.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::queue::{AuditQueue, QueueEntry, to_batch};
use super::trouble_log::TroubleLog;
use super::{AuditRowId, AuditWriteError, BatchMark};
use crate::{Error, Store};

/// Rows in one transaction: a disk sync for each would be the slowest part.
const BATCH_SIZE: usize = 1024;
/// If the audit is not required, a crash loses the rows of this time and of the write in progress.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// Delays between attempts to write: they start with the first and double up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(2);

/// Writes until the queue is closed and empty, or the time for that is over.
pub(super) async fn run_writer(store: Store, queue: Arc<AuditQueue>) {
    let mut writer = AuditWriter {
        store,
        queue,
        mark: BatchMark::for_new_writer(),
        trouble: TroubleLog::default(),
        retry: FIRST_RETRY,
    };
    while writer.queue.wait_for_work().await && !writer.is_too_late() {
        writer.write_batch().await;
    }
    give_up(&writer.queue);
}

struct AuditWriter {
    store: Store,
    queue: Arc<AuditQueue>,
    mark: BatchMark,
    trouble: TroubleLog,
    retry: Duration,
}

impl AuditWriter {
    async fn write_batch(&mut self) {
        let entries = self.queue.take_batch(BATCH_SIZE);
        let batch = to_batch(&entries);
        match self.store.write_batch(&batch, Some(&self.mark)).await {
            Ok(rows) => self.complete_batch(entries, rows).await,
            Err(AuditWriteError::NotWritten(error)) => self.requeue_batch(entries, &error).await,
            Err(AuditWriteError::Unacknowledged { begun, error }) => {
                self.resolve_unacknowledged_batch(entries, begun, error)
                    .await;
            }
        }
    }

    async fn complete_batch(&mut self, entries: Vec<QueueEntry>, rows: Vec<AuditRowId>) {
        self.mark.advance();
        self.queue.complete_batch(entries, rows);
        self.trouble.report_success(&self.queue);
        self.retry = FIRST_RETRY;
        sleep_unless_urgent(GATHER_TIME, &self.queue).await;
    }

    async fn requeue_batch(&mut self, entries: Vec<QueueEntry>, error: &Error) {
        self.queue.requeue_batch(entries);
        self.pause_after_error(error).await;
    }

    /// Checks whether the batch was written before continuing: writing it again might duplicate it,
    /// and skipping it might lose it.
    async fn resolve_unacknowledged_batch(
        &mut self,
        entries: Vec<QueueEntry>,
        begun: Vec<AuditRowId>,
        error: Error,
    ) {
        self.pause_after_error(&error).await;
        loop {
            match self.store.is_written(&self.mark).await {
                Ok(true) => return self.complete_batch(entries, begun).await,
                Ok(false) => return self.queue.requeue_batch(entries),
                Err(_) if self.is_too_late() => return self.queue.requeue_batch(entries),
                Err(error) => self.pause_after_error(&error).await,
            }
        }
    }

    async fn pause_after_error(&mut self, error: &Error) {
        self.queue.set_failing();
        self.trouble.report_failure(&self.queue, error);
        if self.is_too_late() {
            return;
        }
        // The database gets a pause even while calls wait for their rows.
        tokio::time::sleep(FIRST_RETRY).await;
        sleep_unless_urgent(self.retry, &self.queue).await;
        self.retry = (self.retry * 2).min(LAST_RETRY);
    }

    /// Returns true if the queue was closed and the time for writing the rest is over.
    fn is_too_late(&self) -> bool {
        let end = self.queue.give_up_at();
        self.trouble.is_failing() && end.is_some_and(|end| Instant::now() >= end)
    }
}

fn give_up(queue: &AuditQueue) {
    let given_up = queue.give_up();
    if given_up > 0 {
        tracing::error!(
            given_up,
            lost = queue.lost_count(),
            "audit records could not be written and are lost"
        );
    }
}

/// Waits, unless a caller waits for the next write.
async fn sleep_unless_urgent(pause: Duration, queue: &AuditQueue) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = queue.wait_until_urgent() => {}
    }
}
