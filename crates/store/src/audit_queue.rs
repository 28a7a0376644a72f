//! What waits to be written into the audit: bounded by number, by bytes and for each tenant, and
//! kept until it is written.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kitbag_domain::{Observation, Outcome};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::audit::{Batch, Ending, Record, RowId};

/// How much may wait, and how long the writer goes on trying once it was asked to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
    pub(crate) patience: Duration,
}

#[derive(Debug)]
pub(crate) enum Item {
    Record(Record),
    /// A call that must not go out before its row is there.
    Begin {
        observation: Observation,
        done: oneshot::Sender<Result<RowId, ()>>,
    },
    End(Ending),
}

/// The queue takes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Full,
    Closed,
}

#[derive(Debug)]
pub(crate) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    /// There is something to write, or the end has come.
    news: Notify,
    /// Somebody waits for what is written next.
    urgent: Notify,
    /// Everything with a smaller number is written, or given up.
    settled: watch::Sender<u64>,
    lost: AtomicU64,
    failing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Of what waits and of what is being written.
    entries: usize,
    bytes: usize,
    tenants: HashMap<String, usize>,
    accepted: u64,
    give_up_at: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Waiting {
    number: u64,
    weight: usize,
    item: Item,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
            news: Notify::new(),
            urgent: Notify::new(),
            settled: watch::Sender::new(0),
            lost: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        }
    }

    /// Takes something in, or says why not. What ends a call that is on record always finds room:
    /// there is no more of it than there are calls under way.
    pub(crate) fn put(&self, item: Item) -> Result<(), Refused> {
        let mut state = self.state();
        if state.give_up_at.is_some() {
            return Err(Refused::Closed);
        }
        let weight = item.weight();
        if !matches!(item, Item::End(_)) && state.is_full(&self.limits, item.tenant(), weight) {
            return Err(Refused::Full);
        }
        let urgent = matches!(item, Item::Begin { .. });
        state.add(item, weight);
        drop(state);
        self.news.notify_one();
        if urgent {
            self.urgent.notify_one();
        }
        Ok(())
    }

    /// Comes back when there is something to write; `false` when there will never be more.
    pub(crate) async fn has_work(&self) -> bool {
        loop {
            {
                let state = self.state();
                if !state.waiting.is_empty() {
                    return true;
                }
                if state.give_up_at.is_some() {
                    return false;
                }
            }
            self.news.notified().await;
        }
    }

    pub(crate) fn take(&self, at_most: usize) -> Vec<Waiting> {
        let mut state = self.state();
        let count = at_most.min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }

    /// The batch is on the disk; `rows` are those of what has begun.
    pub(crate) fn written(&self, batch: Vec<Waiting>, rows: Vec<RowId>) {
        self.failing.store(false, Ordering::Relaxed);
        let mut rows = rows.into_iter();
        let mut state = self.state();
        for Waiting { item, weight, .. } in batch {
            state.remove(item.tenant(), weight);
            let Item::Begin { done, .. } = item else {
                continue;
            };
            let Some(row) = rows.next() else { continue };
            if done.send(Ok(row)).is_err() {
                // The caller has left in the meantime, and nothing went out.
                let ending = Ending {
                    row,
                    outcome: Outcome::Cancelled,
                    latency: Duration::ZERO,
                };
                let item = Item::End(ending);
                let weight = item.weight();
                state.add(item, weight);
            }
        }
        self.settle(state);
    }

    /// Nothing of the batch is on the disk. What must be there before a call goes out is refused;
    /// everything else waits in its old place.
    pub(crate) fn failed(&self, batch: Vec<Waiting>) {
        self.failing.store(true, Ordering::Relaxed);
        let mut state = self.state();
        for waiting in batch.into_iter().rev() {
            match waiting.item {
                Item::Begin { observation, done } => {
                    state.remove(Some(observation.caller.tenant.as_str()), waiting.weight);
                    // A caller that has left is not waiting for the bad news.
                    let _ = done.send(Err(()));
                }
                item => state.waiting.push_front(Waiting { item, ..waiting }),
            }
        }
        self.settle(state);
    }

    /// Lets go of everything, because the end has come and the disk has not.
    pub(crate) fn give_up(&self) -> u64 {
        let mut state = self.state();
        let lost = state.waiting.len() as u64;
        state.waiting.clear();
        (state.entries, state.bytes) = (0, 0);
        state.tenants.clear();
        self.count_lost(lost);
        self.settle(state);
        lost
    }

    pub(crate) fn count_lost(&self, count: u64) {
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether the last attempt to write came to nothing.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    pub(crate) fn len(&self) -> usize {
        self.state().entries
    }

    /// Takes nothing in from now on, and lets the writer try for a while to write the rest.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        let patience = self.limits.patience;
        state
            .give_up_at
            .get_or_insert_with(|| Instant::now() + patience);
        drop(state);
        self.news.notify_one();
        self.urgent.notify_one();
    }

    pub(crate) fn give_up_at(&self) -> Option<Instant> {
        self.state().give_up_at
    }

    /// Comes back when somebody waits for what is written next.
    pub(crate) async fn urgent(&self) {
        self.urgent.notified().await;
    }

    /// Comes back when everything taken in before is written, or given up.
    pub(crate) async fn settled(&self) {
        let before = self.state().accepted;
        self.urgent.notify_one();
        let mut settled = self.settled.subscribe();
        // It is closed with the queue, and then there is nothing to wait for.
        let _ = settled.wait_for(|number| *number >= before).await;
    }

    fn settle(&self, state: MutexGuard<'_, State>) {
        let oldest = state
            .waiting
            .front()
            .map_or(state.accepted, |waiting| waiting.number);
        drop(state);
        self.settled.send_replace(oldest);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// One tenant may fill half of the queue, so that the others' records are not lost for it.
    fn is_full(&self, limits: &Limits, tenant: Option<&str>, weight: usize) -> bool {
        let of_tenant = tenant
            .and_then(|tenant| self.tenants.get(tenant))
            .copied()
            .unwrap_or(0);
        self.entries >= limits.entries
            || self.bytes + weight > limits.bytes
            || of_tenant >= limits.entries.div_ceil(2)
    }

    fn add(&mut self, item: Item, weight: usize) {
        self.entries += 1;
        self.bytes += weight;
        if let Some(tenant) = item.tenant() {
            *self.tenants.entry(tenant.to_owned()).or_default() += 1;
        }
        self.waiting.push_back(Waiting {
            number: self.accepted,
            weight,
            item,
        });
        self.accepted += 1;
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

impl Item {
    fn tenant(&self) -> Option<&str> {
        match self {
            Self::Record(record) => Some(record.tenant()),
            Self::Begin { observation, .. } => Some(observation.caller.tenant.as_str()),
            Self::End(_) => None,
        }
    }

    fn weight(&self) -> usize {
        let texts = match self {
            Self::Record(record) => record.weight(),
            Self::Begin { observation, .. } => observation.capability.name.len(),
            Self::End(_) => 0,
        };
        size_of::<Waiting>() + texts
    }
}

/// What the items of a batch ask to be written.
pub(crate) fn together(batch: &[Waiting]) -> Batch<'_> {
    let mut together = Batch::default();
    for waiting in batch {
        match &waiting.item {
            Item::Record(record) => together.records.push(record),
            Item::Begin { observation, .. } => together.begun.push(observation),
            Item::End(ending) => together.ended.push(ending),
        }
    }
    together
}
