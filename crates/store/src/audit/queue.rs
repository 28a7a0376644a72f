//! The queue of audit rows to be written. It is limited by number, by bytes and per tenant, and
//! keeps rows until they are written.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kitbag_domain::sync::lock;
use kitbag_domain::{CallCost, Observation, Outcome, RecordedArguments};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::{AuditBatch, AuditRecord, AuditRowId, CallEnding};

/// Limits the queue, and how long the writer keeps trying after shutdown began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueLimits {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
    pub(crate) shutdown_timeout: Duration,
}

/// One thing to write.
#[derive(Debug)]
pub(crate) enum QueuedWrite {
    Record(AuditRecord),
    /// A call that must not go out before its row is written.
    Begin {
        observation: Observation,
        done: RowSender,
    },
    End(CallEnding),
}

/// Returns the row of a call to the waiting caller.
pub(crate) type RowSender = oneshot::Sender<Result<AuditRowId, ()>>;

/// The reasons why the queue rejects a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueRefusal {
    Full,
    Closed,
}

#[derive(Debug)]
pub(crate) struct AuditQueue {
    limits: QueueLimits,
    state: Mutex<QueueState>,
    /// Notified when there is something to write, or when the queue was closed.
    work_available: Notify,
    /// Notified when a caller waits for the next write.
    urgent: Notify,
    /// Every entry with a smaller number is written or dropped.
    settled: watch::Sender<u64>,
    lost: AtomicU64,
    failing: AtomicBool,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<QueueEntry>,
    /// Counts the queued entries and the entries being written.
    entries: usize,
    bytes: usize,
    tenants: HashMap<String, usize>,
    accepted: u64,
    give_up_at: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct QueueEntry {
    number: u64,
    weight: usize,
    write: QueuedWrite,
}

impl AuditQueue {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
            work_available: Notify::new(),
            urgent: Notify::new(),
            settled: watch::Sender::new(0),
            lost: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        }
    }

    /// Adds a write, or returns the reason for rejecting it. The end of a call that has its row is
    /// accepted even by a full queue: there are no more of these than running calls.
    pub(crate) fn put(&self, write: QueuedWrite) -> Result<(), QueueRefusal> {
        let urgent = matches!(write, QueuedWrite::Begin { .. });
        self.try_add(write)?;
        self.work_available.notify_one();
        if urgent {
            self.urgent.notify_one();
        }
        Ok(())
    }

    fn try_add(&self, write: QueuedWrite) -> Result<(), QueueRefusal> {
        let mut state = lock(&self.state);
        if state.give_up_at.is_some() {
            return Err(QueueRefusal::Closed);
        }
        if state.is_full(&self.limits, &write) {
            return Err(QueueRefusal::Full);
        }
        state.add(write);
        Ok(())
    }

    /// Returns when there is something to write; `false` when there will never be more.
    pub(crate) async fn wait_for_work(&self) -> bool {
        loop {
            if let Some(has_work) = lock(&self.state).has_work() {
                return has_work;
            }
            self.work_available.notified().await;
        }
    }

    pub(crate) fn take_batch(&self, at_most: usize) -> Vec<QueueEntry> {
        let mut state = lock(&self.state);
        let count = at_most.min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }

    /// The batch is on disk; `rows` are the rows of the calls that have begun.
    pub(crate) fn complete_batch(&self, batch: Vec<QueueEntry>, rows: Vec<AuditRowId>) {
        self.failing.store(false, Ordering::Relaxed);
        let mut rows = rows.into_iter();
        let mut state = lock(&self.state);
        for entry in batch {
            state.remove(entry.write.tenant_name(), entry.weight);
            if let QueuedWrite::Begin { done, .. } = entry.write
                && let Some(row) = rows.next()
            {
                state.report_row(row, done);
            }
        }
        self.publish_progress(state);
    }

    /// Nothing of the batch is on disk, so it returns to its position in the queue. Calls that must
    /// have their row first are rejected, even behind the batch: while nothing can be written, the
    /// rows in front of them increase, and the next batch might not reach them either.
    pub(crate) fn requeue_batch(&self, batch: Vec<QueueEntry>) {
        self.set_failing();
        let mut state = lock(&self.state);
        for entry in batch.into_iter().rev() {
            state.waiting.push_front(entry);
        }
        state.reject_waiting_calls();
        self.publish_progress(state);
    }

    /// Drops every entry once the time for writing is over, and returns their number.
    pub(crate) fn give_up(&self) -> u64 {
        let mut state = lock(&self.state);
        let lost = state.clear();
        self.count_lost(lost);
        self.publish_progress(state);
        lost
    }

    pub(crate) fn count_lost(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn lost_count(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// True if the last attempt to write failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    pub(crate) fn set_failing(&self) {
        self.failing.store(true, Ordering::Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.state).entries
    }

    /// Accepts nothing from now on. The writer has until `give_up_at` to write the rest.
    pub(crate) fn close(&self) {
        let end = Instant::now() + self.limits.shutdown_timeout;
        lock(&self.state).give_up_at.get_or_insert(end);
        self.work_available.notify_one();
        self.urgent.notify_one();
    }

    pub(crate) fn give_up_at(&self) -> Option<Instant> {
        lock(&self.state).give_up_at
    }

    /// Returns when a caller waits for the next write.
    pub(crate) async fn wait_until_urgent(&self) {
        self.urgent.notified().await;
    }

    /// Returns when every earlier entry is written or dropped.
    pub(crate) async fn wait_until_settled(&self) {
        let before = lock(&self.state).accepted;
        self.urgent.notify_one();
        let mut settled = self.settled.subscribe();
        // This fails when the queue is dropped, and then there is nothing to wait for.
        let _ = settled.wait_for(|number| *number >= before).await;
    }

    /// Publishes how far the entries are written.
    fn publish_progress(&self, state: MutexGuard<'_, QueueState>) {
        let oldest = state.waiting.front().map(|entry| entry.number);
        let settled = oldest.unwrap_or(state.accepted);
        drop(state);
        self.settled.send_replace(settled);
    }
}

impl QueueState {
    /// Returns `None` if that is not known yet, because the queue is empty and open.
    fn has_work(&self) -> Option<bool> {
        if !self.waiting.is_empty() {
            Some(true)
        } else {
            self.give_up_at.map(|_| false)
        }
    }

    fn is_full(&self, limits: &QueueLimits, write: &QueuedWrite) -> bool {
        if matches!(write, QueuedWrite::End(_)) {
            return false;
        }
        // One tenant may fill half of the queue, so that it cannot cost the others their records.
        let of_tenant = write
            .tenant_name()
            .and_then(|tenant| self.tenants.get(tenant));
        self.entries >= limits.entries
            || self.bytes + write.memory_size() > limits.bytes
            || of_tenant.is_some_and(|count| *count >= limits.entries.div_ceil(2))
    }

    fn add(&mut self, write: QueuedWrite) {
        let weight = write.memory_size();
        self.entries += 1;
        self.bytes += weight;
        if let Some(tenant) = write.tenant_name() {
            *self.tenants.entry(tenant.to_owned()).or_default() += 1;
        }
        self.waiting.push_back(QueueEntry {
            number: self.accepted,
            weight,
            write,
        });
        self.accepted += 1;
    }

    /// Reports to a waiting call that its row is written.
    fn report_row(&mut self, row: AuditRowId, done: RowSender) {
        if done.send(Ok(row)).is_err() {
            // The caller has left in the meantime, and nothing went out.
            self.add(QueuedWrite::End(CallEnding {
                row,
                outcome: Outcome::Cancelled,
                latency: Duration::ZERO,
                cost: CallCost::default(),
            }));
        }
    }

    /// Rejects every call that waits for its row.
    fn reject_waiting_calls(&mut self) {
        for entry in std::mem::take(&mut self.waiting) {
            match entry.write {
                QueuedWrite::Begin { observation, done } => {
                    self.remove(Some(observation.caller.tenant.as_str()), entry.weight);
                    // A caller that has left does not wait for this answer.
                    let _ = done.send(Err(()));
                }
                write => self.waiting.push_back(QueueEntry { write, ..entry }),
            }
        }
    }

    fn clear(&mut self) -> u64 {
        let cleared = self.waiting.len() as u64;
        self.waiting.clear();
        self.tenants.clear();
        (self.entries, self.bytes) = (0, 0);
        cleared
    }

    fn remove(&mut self, tenant: Option<&str>, weight: usize) {
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(weight);
        let Some(tenant) = tenant else { return };
        if let Some(count) = self.tenants.get_mut(tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.tenants.remove(tenant);
            }
        }
    }
}

impl QueuedWrite {
    fn tenant_name(&self) -> Option<&str> {
        match self {
            Self::Record(record) => Some(record.tenant_name()),
            Self::Begin { observation, .. } => Some(observation.caller.tenant.as_str()),
            Self::End(_) => None,
        }
    }

    fn memory_size(&self) -> usize {
        let texts = match self {
            Self::Record(record) => record.memory_size(),
            Self::Begin { observation, .. } => {
                let arguments = observation.arguments.as_ref();
                let arguments = arguments.map_or(0, |it: &RecordedArguments| it.as_str().len());
                observation.capability.name.len() + arguments
            }
            Self::End(_) => 0,
        };
        size_of::<QueueEntry>() + texts
    }
}

/// Sorts the entries of a batch by the required write.
pub(crate) fn to_batch(entries: &[QueueEntry]) -> AuditBatch<'_> {
    let mut batch = AuditBatch::default();
    for entry in entries {
        match &entry.write {
            QueuedWrite::Record(record) => batch.records.push(record),
            QueuedWrite::Begin { observation, .. } => batch.begun.push(observation),
            QueuedWrite::End(ending) => batch.ended.push(ending),
        }
    }
    batch
}
