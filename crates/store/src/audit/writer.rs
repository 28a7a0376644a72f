//! The task that writes the rows of the queue, a batch at a time.
//!
//! After each batch it lets the next one gather for a moment, so a quiet gateway writes at
//! once and a busy one does not spend its time on syncing the disk. A batch that cannot be
//! written is tried again, after pauses that grow.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::queue::{AuditQueue, QueueEntry, sorted};
use super::trouble::TroubleLog;
use super::{AuditWriteError, BatchMark, RowId};
use crate::{Error, Store};

/// Rows in one transaction: a sync of the disk for each would be the slowest part.
const BATCH: usize = 1024;
/// If the audit is not required, a crash loses the rows of this time and of the write under way.
const GATHER: Duration = Duration::from_millis(50);
/// Pauses between attempts to write: they begin with the first and double up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(2);

/// Writes until the queue is closed and empty, or the time for that is over.
pub(super) async fn write(store: Store, queue: Arc<AuditQueue>) {
    let mut writer = AuditWriter {
        store,
        queue,
        mark: BatchMark::first(),
        trouble: TroubleLog::default(),
        retry: FIRST_RETRY,
    };
    while writer.queue.has_work().await && !writer.is_too_late() {
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
        let entries = self.queue.take(BATCH);
        let batch = sorted(&entries);
        match self.store.write_marked(&batch, Some(&self.mark)).await {
            Ok(rows) => self.succeed(entries, rows).await,
            Err(AuditWriteError::NotWritten(error)) => self.fail(entries, &error).await,
            Err(AuditWriteError::Doubtful { begun, error }) => {
                self.resolve(entries, begun, error).await;
            }
        }
    }

    async fn succeed(&mut self, entries: Vec<QueueEntry>, rows: Vec<RowId>) {
        self.mark.advance();
        self.queue.written(entries, rows);
        self.trouble.written(&self.queue);
        self.retry = FIRST_RETRY;
        wait(GATHER, &self.queue).await;
    }

    async fn fail(&mut self, entries: Vec<QueueEntry>, error: &Error) {
        self.queue.failed(entries);
        self.pause_after(error).await;
    }

    /// Finds out whether the batch was written before anything else is: to write it again might
    /// write it twice, and to go on might lose it.
    async fn resolve(&mut self, entries: Vec<QueueEntry>, begun: Vec<RowId>, error: Error) {
        self.pause_after(&error).await;
        loop {
            match self.store.is_written(&self.mark).await {
                Ok(true) => return self.succeed(entries, begun).await,
                Ok(false) => return self.queue.failed(entries),
                Err(_) if self.is_too_late() => return self.queue.failed(entries),
                Err(error) => self.pause_after(&error).await,
            }
        }
    }

    async fn pause_after(&mut self, error: &Error) {
        self.queue.set_failing();
        self.trouble.failed(&self.queue, error);
        if self.is_too_late() {
            return;
        }
        // The database gets a pause also while calls wait for their rows.
        tokio::time::sleep(FIRST_RETRY).await;
        wait(self.retry, &self.queue).await;
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
            lost = queue.lost(),
            "records of the audit could not be written and are lost"
        );
    }
}

/// Waits, unless a caller waits for the next write.
async fn wait(pause: Duration, queue: &AuditQueue) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = queue.urgent() => {}
    }
}
