//! What a client is told without having asked: list changes and resource updates.
//!
//! A legacy session has one subscriber for its whole life, a modern client one for each
//! `subscriptions/listen`. Announcements wait in a short queue, so that a stream that is
//! opened late, or picked up again, still delivers them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use kitbag_domain::Caller;
use kitbag_wire::Notification;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::sync::lock;
use crate::turn::View;

const KEPT: usize = 256;

pub(crate) struct Subscriber {
    pub(crate) caller: Caller,
    pub(crate) view: View,
    filter: Mutex<Filter>,
    queue: Mutex<Queue>,
    arrived: Notify,
    listeners: AtomicUsize,
    closed: CancellationToken,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: BTreeSet<String>,
}

#[derive(Default)]
struct Queue {
    /// The number of the first message that is still kept.
    first: u64,
    messages: VecDeque<Notification>,
}

impl Filter {
    pub(crate) fn everything() -> Self {
        Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new() }
    }
}

impl Subscriber {
    pub(crate) fn new(caller: Caller, view: View, filter: Filter) -> Self {
        Self {
            caller,
            view,
            filter: Mutex::new(filter),
            queue: Mutex::default(),
            arrived: Notify::new(),
            listeners: AtomicUsize::new(0),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn filter(&self) -> MutexGuard<'_, Filter> {
        lock(&self.filter)
    }

    pub(crate) fn announce(&self, notification: Notification) {
        let mut queue = self.queue();
        if queue.messages.len() == KEPT {
            queue.messages.pop_front();
            queue.first += 1;
        }
        queue.messages.push_back(notification);
        drop(queue);
        self.arrived.notify_waiters();
    }

    /// The first announcement numbered `from` or later, with its number, once there is one;
    /// nothing when the subscription is over.
    pub(crate) async fn next(&self, from: u64) -> Option<(u64, Notification)> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(found) = self.at(from) {
                return Some(found);
            }
            tokio::select! {
                () = arrived => {}
                () = self.closed.cancelled() => return None,
            }
        }
    }

    pub(crate) fn listening(&self) -> Listening<'_> {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening(self)
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    fn at(&self, from: u64) -> Option<(u64, Notification)> {
        let queue = self.queue();
        let number = from.max(queue.first);
        let index = usize::try_from(number - queue.first).ok()?;
        queue.messages.get(index).map(|message| (number, message.clone()))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

/// While this lives, somebody reads the announcements.
pub(crate) struct Listening<'a>(&'a Subscriber);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
