//! How many calls a server has at once, how many may wait until one of them ends, and whose turn
//! it is then: that of the caller who has the fewest running, so that nobody pays for a crowd of
//! somebody else's calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::exchange::Identity;
use crate::spec::ServerLimits;
use kitbag_domain::sync::lock;

/// One place in so many is kept free of callers who have one already: whoever comes next and has
/// none does not wait for a crowd to end.
const SPARE_ONE_IN: usize = 8;
/// The part of the queue that one caller leaves to others.
const QUEUE_LEFT_ONE_IN: usize = 4;

pub(crate) struct Places {
    shared: Arc<Shared>,
}

struct Shared {
    book: Mutex<Book>,
    /// Says that nobody runs or waits any more.
    empty: Notify,
    most: usize,
    spare: usize,
    most_queued: usize,
}

#[derive(Default)]
struct Book {
    running: usize,
    callers: HashMap<Arc<str>, Standing>,
    /// The longest waiting first.
    queue: Vec<Waiter>,
    /// Counts those who came and those who were served, to tell who was first.
    clock: u64,
    /// None is given to anybody who comes from now on.
    closing: bool,
}

/// How one caller stands with this server.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    running: usize,
    waiting: usize,
    served_last: u64,
}

struct Waiter {
    number: u64,
    caller: Arc<str>,
    is_owner: bool,
    place: oneshot::Sender<Place>,
}

/// A place among the running calls; it is given back when it is dropped.
pub(crate) struct Place {
    shared: Arc<Shared>,
    /// None once it was given to somebody who had gone.
    caller: Option<Arc<str>>,
}

/// Why a call cannot have a place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// All are taken, and so is the queue, or the part of it that one caller may have.
    Full {
        running: usize,
        queued: usize,
        own: bool,
    },
    /// There will be none any more.
    Closed,
}

impl Places {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let most = limits.max_concurrent;
        let spare = if most > 1 {
            (most / SPARE_ONE_IN).max(1)
        } else {
            0
        };
        let (book, empty) = (Mutex::default(), Notify::new());
        Self {
            shared: Arc::new(Shared {
                book,
                empty,
                most,
                spare,
                most_queued: limits.max_queued,
            }),
        }
    }

    /// A place, or a short wait for one.
    pub(crate) async fn take(&self, caller: &Identity) -> Result<Place, NoPlace> {
        let (number, place) = self.shared.enter(caller)?;
        let _waiting = Waiting {
            shared: &self.shared,
            number,
        };
        place.await.map_err(|_| NoPlace::Closed)
    }

    /// Waits until everybody who has a place or waits for one is done, with patience but not
    /// without end. Nobody who comes meanwhile gets one.
    pub(crate) async fn close(&self, patience: Duration) {
        lock(&self.shared.book).closing = true;
        let _ = tokio::time::timeout(patience, self.shared.emptied()).await;
        lock(&self.shared.book).queue.clear();
    }
}

impl Shared {
    /// Enters a caller into the queue, from which it is called at once if there is a place.
    fn enter(
        self: &Arc<Self>,
        caller: &Identity,
    ) -> Result<(u64, oneshot::Receiver<Place>), NoPlace> {
        let (sender, place) = oneshot::channel();
        let mut book = lock(&self.book);
        if book.closing {
            return Err(NoPlace::Closed);
        }
        let number = book.tick();
        let name = caller.account.clone();
        book.callers.entry(name.clone()).or_default().waiting += 1;
        book.queue.push(Waiter {
            number,
            caller: name,
            is_owner: caller.is_owner,
            place: sender,
        });
        self.call_up(&mut book);
        match self.too_many(&book, caller, number) {
            Some(full) => {
                book.leave(number);
                Err(full)
            }
            None => Ok((number, place)),
        }
    }

    /// Why the one who came last cannot wait, if it has to and cannot.
    fn too_many(&self, book: &Book, caller: &Identity, number: u64) -> Option<NoPlace> {
        book.queue.iter().find(|it| it.number == number)?;
        let Standing {
            running, waiting, ..
        } = book.callers.get(&caller.account).copied()?;
        let share = match caller.is_owner {
            true => self.most_queued,
            false => self.most_queued - self.most_queued / QUEUE_LEFT_ONE_IN,
        };
        if book.queue.len() > self.most_queued {
            return Some(NoPlace::Full {
                running: self.most,
                queued: self.most_queued,
                own: false,
            });
        }
        (waiting > share).then_some(NoPlace::Full {
            running,
            queued: waiting - 1,
            own: true,
        })
    }

    /// Gives free places to those whose turn it is.
    fn call_up(self: &Arc<Self>, book: &mut Book) {
        while let Some(at) = self.next(book) {
            let Waiter { caller, place, .. } = book.queue.remove(at);
            let now = book.tick();
            let standing = book.callers.entry(caller.clone()).or_default();
            standing.waiting -= 1;
            standing.running += 1;
            standing.served_last = now;
            book.running += 1;
            let given = place.send(Place {
                shared: self.clone(),
                caller: Some(caller),
            });
            // It was not waited for any more. Dropping it as it is would want the lock we hold.
            if let Err(mut unwanted) = given
                && let Some(caller) = unwanted.caller.take()
            {
                book.ended(&caller);
            }
        }
    }

    /// The one in the queue who is to be served next, if anybody may be.
    fn next(&self, book: &Book) -> Option<usize> {
        let free = self
            .most
            .checked_sub(book.running)
            .filter(|free| *free > 0)?;
        let standing = |it: &Waiter| book.callers.get(&it.caller).copied().unwrap_or_default();
        let may = |it: &Waiter| it.is_owner || free > self.spare || standing(it).running == 0;
        let rank = |it: &Waiter| (standing(it).running, standing(it).served_last, it.number);
        let first = book
            .queue
            .iter()
            .enumerate()
            .filter(|(_, it)| may(it))
            .min_by_key(|(_, it)| rank(it))?;
        Some(first.0)
    }

    fn release(self: &Arc<Self>, caller: &Arc<str>) {
        let mut book = lock(&self.book);
        book.ended(caller);
        self.call_up(&mut book);
        self.tell_if_empty(&book);
    }

    fn tell_if_empty(&self, book: &Book) {
        if book.running == 0 && book.queue.is_empty() {
            self.empty.notify_waiters();
        }
    }

    async fn emptied(&self) {
        loop {
            let mut told = std::pin::pin!(self.empty.notified());
            told.as_mut().enable();
            {
                let book = lock(&self.book);
                if book.running == 0 && book.queue.is_empty() {
                    return;
                }
            }
            told.await;
        }
    }
}

impl Book {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn ended(&mut self, caller: &Arc<str>) {
        self.running -= 1;
        if let Some(standing) = self.callers.get_mut(caller) {
            standing.running -= 1;
        }
        self.forget_if_gone(caller);
    }

    fn leave(&mut self, number: u64) {
        let Some(at) = self.queue.iter().position(|it| it.number == number) else {
            return;
        };
        let Waiter { caller, .. } = self.queue.remove(at);
        if let Some(standing) = self.callers.get_mut(&caller) {
            standing.waiting -= 1;
        }
        self.forget_if_gone(&caller);
    }

    fn forget_if_gone(&mut self, caller: &Arc<str>) {
        if self
            .callers
            .get(caller)
            .is_some_and(|it| it.running == 0 && it.waiting == 0)
        {
            self.callers.remove(caller);
        }
    }
}

/// Somebody in the queue, until the wait is over or given up.
struct Waiting<'a> {
    shared: &'a Arc<Shared>,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut book = lock(&self.shared.book);
        book.leave(self.number);
        self.shared.tell_if_empty(&book);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(caller) = self.caller.take() {
            self.shared.release(&caller);
        }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Place").field(&self.caller).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn places(max_concurrent: usize, max_queued: usize) -> Places {
        Places::new(&ServerLimits {
            max_concurrent,
            max_queued,
            ..ServerLimits::default()
        })
    }

    fn caller(name: &str) -> Identity {
        Identity {
            principal: name.into(),
            client: name.into(),
            account: name.into(),
            is_owner: name == "owner",
        }
    }

    /// As many places as this caller gets without waiting.
    fn all(places: &Places, name: &str) -> Vec<Place> {
        std::iter::from_fn(|| places.take(&caller(name)).now_or_never()?.ok()).collect()
    }

    #[tokio::test]
    async fn a_crowd_of_one_callers_calls_leaves_places_for_others() {
        for (most, for_one) in [(64, 56), (8, 7), (4, 3), (2, 1), (1, 1)] {
            let places = places(most, 100);
            let low = all(&places, "low");
            assert_eq!(low.len(), for_one, "of {most}");
            let high = places.take(&caller("high")).now_or_never();
            assert_eq!(high.is_some(), most > 1, "of {most}");
        }
    }

    #[tokio::test]
    async fn the_person_whose_gateway_it_is_may_have_all() {
        assert_eq!(all(&places(64, 0), "owner").len(), 64);
    }

    #[tokio::test]
    async fn the_next_turn_is_that_of_the_caller_with_the_fewest_running() {
        let places = places(1, 100);
        let mut running = all(&places, "low");
        let (low, high) = (caller("low"), caller("high"));
        let mut crowd: Vec<_> = (0..10).map(|_| Box::pin(places.take(&low))).collect();
        for waiting in &mut crowd {
            assert!(waiting.now_or_never().is_none());
        }
        let mut late = Box::pin(places.take(&high));
        assert!((&mut late).now_or_never().is_none());
        running.clear();
        assert!(
            late.now_or_never().is_some_and(|place| place.is_ok()),
            "it waited for one call, not ten"
        );
    }

    #[tokio::test]
    async fn one_caller_cannot_fill_the_queue() {
        let places = places(1, 8);
        let _running = all(&places, "low");
        let (low, high) = (caller("low"), caller("high"));
        let mut crowd: Vec<_> = (0..7).map(|_| Box::pin(places.take(&low))).collect();
        let told: Vec<_> = crowd
            .iter_mut()
            .map(|it| it.now_or_never().map(|it| it.map(drop)))
            .collect();
        let full = NoPlace::Full {
            running: 1,
            queued: 6,
            own: true,
        };
        assert_eq!(told[..6], [const { None }; 6]);
        assert_eq!(told[6], Some(Err(full)));
        assert!(
            places.take(&high).now_or_never().is_none(),
            "another one still may wait"
        );
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_no_trace() {
        let places = places(1, 2);
        let running = all(&places, "low");
        for _ in 0..10 {
            assert!(places.take(&caller("high")).now_or_never().is_none());
        }
        drop(running);
        assert_eq!(all(&places, "high").len(), 1);
        assert!(lock(&places.shared.book).callers.is_empty());
    }

    #[tokio::test]
    async fn closing_lets_those_finish_who_came_before() {
        let places = places(1, 2);
        let running = all(&places, "low");
        let high = caller("high");
        let mut waiting = Box::pin(places.take(&high));
        assert!((&mut waiting).now_or_never().is_none());
        let mut closing = Box::pin(places.close(Duration::from_secs(60)));
        assert!((&mut closing).now_or_never().is_none());
        assert_eq!(places.take(&high).await.map(drop), Err(NoPlace::Closed));
        drop(running);
        drop(waiting.await.unwrap());
        closing.await;
    }
}
