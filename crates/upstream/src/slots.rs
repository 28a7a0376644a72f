//! The limit on a server's concurrent calls, and the queue of waiting calls.
//!
//! The next slot goes to the caller with the fewest running calls, so that no caller waits behind
//! a burst of another caller's calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_domain::sync::lock;
use tokio::sync::{Notify, oneshot};

use crate::exchange::ClientIdentity;
use crate::spec::ServerLimits;

/// One slot in this many is closed to callers who already have one, so that the next caller does
/// not wait for a burst of calls to finish.
const SPARE_ONE_IN: usize = 8;
/// One caller may not fill the last quarter of the queue.
const QUEUE_LEFT_ONE_IN: usize = 4;

pub(crate) struct CallSlots {
    shared: Arc<SlotState>,
}

struct SlotState {
    book: Mutex<SlotBook>,
    /// Notified when no call runs or waits any more.
    empty: Notify,
    most: usize,
    spare: usize,
    most_queued: usize,
}

#[derive(Default)]
struct SlotBook {
    running: usize,
    callers: HashMap<Arc<str>, CallerCalls>,
    /// The longest waiting first.
    queue: Vec<WaitingCaller>,
    /// Numbers arrivals and services, to order them.
    clock: u64,
    /// True once no new caller gets a slot.
    closing: bool,
}

/// The calls of one caller at this server.
#[derive(Debug, Clone, Copy, Default)]
struct CallerCalls {
    running: usize,
    waiting: usize,
    served_last: u64,
}

struct WaitingCaller {
    number: u64,
    caller: Arc<str>,
    is_owner: bool,
    slot: oneshot::Sender<CallSlot>,
}

/// Permits one call to run; released on drop.
pub(crate) struct CallSlot {
    shared: Arc<SlotState>,
    /// `None` once it was given to a caller who had stopped waiting.
    caller: Option<Arc<str>>,
}

/// The reason why a call cannot have a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// All slots are taken, and so is the queue, or the caller's share of it.
    Full {
        running: usize,
        queued: usize,
        own: bool,
    },
    /// The server no longer assigns slots.
    Closed,
}

impl CallSlots {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let most = limits.max_concurrent;
        let spare = if most > 1 {
            (most / SPARE_ONE_IN).max(1)
        } else {
            0
        };
        Self {
            shared: Arc::new(SlotState {
                book: Mutex::default(),
                empty: Notify::new(),
                most,
                spare,
                most_queued: limits.max_queued,
            }),
        }
    }

    /// Takes a slot, after a wait if none is free.
    pub(crate) async fn acquire(&self, caller: &ClientIdentity) -> Result<CallSlot, NoSlot> {
        let (number, slot) = self.shared.enqueue(caller)?;
        let _waiting = WaitTicket {
            shared: &self.shared,
            number,
        };
        slot.await.map_err(|_| NoSlot::Closed)
    }

    /// Waits until every call that has a slot or waits for one is done, up to `limit`. Calls that
    /// arrive in the meantime get no slot.
    pub(crate) async fn close(&self, limit: Duration) {
        lock(&self.shared.book).closing = true;
        let _ = tokio::time::timeout(limit, self.shared.wait_until_empty()).await;
        lock(&self.shared.book).queue.clear();
    }
}

impl SlotState {
    /// Adds a caller to the queue, and serves it at once if a slot is free.
    fn enqueue(
        self: &Arc<Self>,
        caller: &ClientIdentity,
    ) -> Result<(u64, oneshot::Receiver<CallSlot>), NoSlot> {
        let (sender, slot) = oneshot::channel();
        let mut book = lock(&self.book);
        if book.closing {
            return Err(NoSlot::Closed);
        }
        let number = book.append(caller, sender);
        self.assign_slots(&mut book);
        match self.find_refusal(&book, caller, number) {
            Some(full) => {
                book.remove_waiting(number);
                Err(full)
            }
            None => Ok((number, slot)),
        }
    }

    /// Returns the reason why the last call has to wait but cannot, if so.
    fn find_refusal(
        &self,
        book: &SlotBook,
        caller: &ClientIdentity,
        number: u64,
    ) -> Option<NoSlot> {
        book.position(number)?;
        let calls = book.callers.get(&caller.account)?;
        if book.queue.len() > self.most_queued {
            return Some(NoSlot::Full {
                running: self.most,
                queued: self.most_queued,
                own: false,
            });
        }
        (calls.waiting > self.queue_share(caller)).then_some(NoSlot::Full {
            running: calls.running,
            queued: calls.waiting - 1,
            own: true,
        })
    }

    /// Returns how many calls of one caller may wait.
    fn queue_share(&self, caller: &ClientIdentity) -> usize {
        match caller.is_owner {
            true => self.most_queued,
            false => self.most_queued - self.most_queued / QUEUE_LEFT_ONE_IN,
        }
    }

    /// Assigns free slots to the next callers.
    fn assign_slots(self: &Arc<Self>, book: &mut SlotBook) {
        while let Some(at) = self.next_position(book) {
            let WaitingCaller { caller, slot, .. } = book.queue.remove(at);
            book.mark_running(&caller);
            let given = slot.send(CallSlot {
                shared: self.clone(),
                caller: Some(caller),
            });
            // Its caller stopped waiting. Dropping the slot as it is would take the lock that is
            // held here.
            if let Err(mut unwanted) = given
                && let Some(caller) = unwanted.caller.take()
            {
                book.mark_ended(&caller);
            }
        }
    }

    /// Returns the position in the queue of the caller who is served next, if there is one.
    fn next_position(&self, book: &SlotBook) -> Option<usize> {
        let free = self.most.checked_sub(book.running)?;
        if free == 0 {
            return None;
        }
        let queue = book.queue.iter().enumerate();
        let first = queue
            .filter(|(_, waiting)| self.may_run(waiting, book, free))
            .min_by_key(|(_, waiting)| book.wait_rank(waiting))?;
        Some(first.0)
    }

    fn may_run(&self, waiting: &WaitingCaller, book: &SlotBook, free: usize) -> bool {
        waiting.is_owner || free > self.spare || book.calls_of(waiting).running == 0
    }

    fn release(self: &Arc<Self>, caller: &Arc<str>) {
        let mut book = lock(&self.book);
        book.mark_ended(caller);
        self.assign_slots(&mut book);
        self.notify_if_empty(&book);
    }

    fn notify_if_empty(&self, book: &SlotBook) {
        if book.is_empty() {
            self.empty.notify_waiters();
        }
    }

    async fn wait_until_empty(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.empty.notified());
            // Registered before the book is checked, so that no notification is missed in between.
            emptied.as_mut().enable();
            if lock(&self.book).is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl SlotBook {
    fn is_empty(&self) -> bool {
        self.running == 0 && self.queue.is_empty()
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn append(&mut self, caller: &ClientIdentity, slot: oneshot::Sender<CallSlot>) -> u64 {
        let number = self.tick();
        let account = caller.account.clone();
        self.callers.entry(account.clone()).or_default().waiting += 1;
        self.queue.push(WaitingCaller {
            number,
            caller: account,
            is_owner: caller.is_owner,
            slot,
        });
        number
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.queue
            .iter()
            .position(|waiting| waiting.number == number)
    }

    fn calls_of(&self, waiting: &WaitingCaller) -> CallerCalls {
        self.callers
            .get(&waiting.caller)
            .copied()
            .unwrap_or_default()
    }

    /// The caller with the fewest running calls is first, then the one served longest ago, then the
    /// one who came first.
    fn wait_rank(&self, waiting: &WaitingCaller) -> (usize, u64, u64) {
        let calls = self.calls_of(waiting);
        (calls.running, calls.served_last, waiting.number)
    }

    fn mark_running(&mut self, caller: &Arc<str>) {
        let now = self.tick();
        let calls = self.callers.entry(caller.clone()).or_default();
        calls.waiting -= 1;
        calls.running += 1;
        calls.served_last = now;
        self.running += 1;
    }

    fn mark_ended(&mut self, caller: &Arc<str>) {
        self.running -= 1;
        if let Some(calls) = self.callers.get_mut(caller) {
            calls.running -= 1;
        }
        self.forget_if_gone(caller);
    }

    fn remove_waiting(&mut self, number: u64) {
        let Some(at) = self.position(number) else {
            return;
        };
        let WaitingCaller { caller, .. } = self.queue.remove(at);
        if let Some(calls) = self.callers.get_mut(&caller) {
            calls.waiting -= 1;
        }
        self.forget_if_gone(&caller);
    }

    fn forget_if_gone(&mut self, caller: &Arc<str>) {
        if let Some(calls) = self.callers.get(caller)
            && calls.running == 0
            && calls.waiting == 0
        {
            self.callers.remove(caller);
        }
    }
}

/// A call in the queue, until it gets its slot or its caller stops waiting.
struct WaitTicket<'a> {
    shared: &'a Arc<SlotState>,
    number: u64,
}

impl Drop for WaitTicket<'_> {
    fn drop(&mut self) {
        let mut book = lock(&self.shared.book);
        book.remove_waiting(self.number);
        self.shared.notify_if_empty(&book);
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if let Some(caller) = self.caller.take() {
            self.shared.release(&caller);
        }
    }
}

impl std::fmt::Debug for CallSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CallSlot").field(&self.caller).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn slots(max_concurrent: usize, max_queued: usize) -> CallSlots {
        CallSlots::new(&ServerLimits {
            max_concurrent,
            max_queued,
            ..ServerLimits::default()
        })
    }

    fn caller(name: &str) -> ClientIdentity {
        ClientIdentity {
            principal: name.into(),
            client: name.into(),
            account: name.into(),
            is_owner: name == "owner",
        }
    }

    /// Takes as many slots as this caller gets without waiting.
    fn all(slots: &CallSlots, name: &str) -> Vec<CallSlot> {
        std::iter::from_fn(|| slots.acquire(&caller(name)).now_or_never()?.ok()).collect()
    }

    #[tokio::test]
    async fn a_burst_of_one_callers_calls_leaves_slots_for_other_callers() {
        for (most, for_one) in [(64, 56), (8, 7), (4, 3), (2, 1), (1, 1)] {
            let slots = slots(most, 100);
            let low = all(&slots, "low");
            assert_eq!(low.len(), for_one, "of {most}");
            let high = slots.acquire(&caller("high")).now_or_never();
            assert_eq!(high.is_some(), most > 1, "of {most}");
        }
    }

    #[tokio::test]
    async fn the_owner_of_the_gateway_may_have_all_slots() {
        assert_eq!(all(&slots(64, 0), "owner").len(), 64);
    }

    #[tokio::test]
    async fn the_next_slot_goes_to_the_caller_with_the_fewest_running_calls() {
        let slots = slots(1, 100);
        let mut running = all(&slots, "low");
        let (low, high) = (caller("low"), caller("high"));
        let mut crowd: Vec<_> = (0..10).map(|_| Box::pin(slots.acquire(&low))).collect();
        for waiting in &mut crowd {
            assert!(waiting.now_or_never().is_none());
        }
        let mut late = Box::pin(slots.acquire(&high));
        assert!((&mut late).now_or_never().is_none());
        running.clear();
        assert!(
            late.now_or_never().is_some_and(|slot| slot.is_ok()),
            "it waited for one call, not ten"
        );
    }

    #[tokio::test]
    async fn one_caller_cannot_fill_the_queue() {
        let slots = slots(1, 8);
        let _running = all(&slots, "low");
        let (low, high) = (caller("low"), caller("high"));
        let mut crowd: Vec<_> = (0..7).map(|_| Box::pin(slots.acquire(&low))).collect();
        let outcomes: Vec<_> = crowd
            .iter_mut()
            .map(|it| it.now_or_never().map(|it| it.map(drop)))
            .collect();
        let full = NoSlot::Full {
            running: 1,
            queued: 6,
            own: true,
        };
        assert_eq!(outcomes[..6], [const { None }; 6]);
        assert_eq!(outcomes[6], Some(Err(full)));
        assert!(
            slots.acquire(&high).now_or_never().is_none(),
            "another one still may wait"
        );
    }

    #[tokio::test]
    async fn a_caller_that_stops_waiting_leaves_no_trace() {
        let slots = slots(1, 2);
        let running = all(&slots, "low");
        for _ in 0..10 {
            assert!(slots.acquire(&caller("high")).now_or_never().is_none());
        }
        drop(running);
        assert_eq!(all(&slots, "high").len(), 1);
        assert!(lock(&slots.shared.book).callers.is_empty());
    }

    #[tokio::test]
    async fn closing_lets_earlier_calls_finish() {
        let slots = slots(1, 2);
        let running = all(&slots, "low");
        let high = caller("high");
        let mut waiting = Box::pin(slots.acquire(&high));
        assert!((&mut waiting).now_or_never().is_none());
        let mut closing = Box::pin(slots.close(Duration::from_secs(60)));
        assert!((&mut closing).now_or_never().is_none());
        assert_eq!(slots.acquire(&high).await.map(drop), Err(NoSlot::Closed));
        drop(running);
        drop(waiting.await.unwrap());
        closing.await;
    }
}
