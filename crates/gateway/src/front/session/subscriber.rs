//! The messages that a client gets without a request: list changes and resource updates.
//!
//! A legacy session has one subscriber for its whole life, a modern client one for each
//! `subscriptions/listen`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use kitbag_domain::Caller;
use kitbag_wire::Message;

use super::mailbox::Mailbox;
use crate::turn::view::View;
use kitbag_domain::sync::lock;

pub(crate) struct Subscriber {
    pub(crate) caller: Caller,
    pub(crate) view: View,
    pub(crate) mailbox: Mailbox,
    filter: Mutex<SubscriptionFilter>,
    /// The readers of the mailbox, by number; later readers have higher numbers.
    readers: Mutex<BTreeSet<u64>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SubscriptionFilter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: BTreeSet<String>,
}

impl SubscriptionFilter {
    pub(crate) fn all() -> Self {
        Self {
            tools: true,
            prompts: true,
            resources: true,
            uris: BTreeSet::new(),
        }
    }
}

impl Subscriber {
    pub(crate) fn new(caller: Caller, view: View, filter: SubscriptionFilter) -> Self {
        let (mailbox, readers) = (Mailbox::default(), Mutex::default());
        Self {
            caller,
            view,
            mailbox,
            filter: Mutex::new(filter),
            readers,
        }
    }

    pub(crate) fn filter(&self) -> MutexGuard<'_, SubscriptionFilter> {
        lock(&self.filter)
    }

    pub(crate) fn new_reader(self: &Arc<Self>) -> Reader {
        let mut readers = lock(&self.readers);
        let number = readers.last().map_or(0, |last| last + 1);
        readers.insert(number);
        Reader {
            subscriber: self.clone(),
            number,
        }
    }

    pub(crate) fn has_reader(&self) -> bool {
        !lock(&self.readers).is_empty()
    }
}

/// One stream on which a client gets its announcements.
pub(crate) struct Reader {
    subscriber: Arc<Subscriber>,
    number: u64,
}

impl Reader {
    /// Waits for the next announcement that no stream has taken, and returns it with its number;
    /// `None` when the subscription is over. Of several streams only the newest gets it, because
    /// the older ones may be broken unnoticed.
    pub(crate) async fn next(&self) -> Option<(u64, Message)> {
        self.subscriber.mailbox.take_next(|| self.is_newest()).await
    }

    fn is_newest(&self) -> bool {
        lock(&self.subscriber.readers).last() == Some(&self.number)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.subscriber.readers).remove(&self.number);
        self.subscriber.mailbox.wake_readers();
    }
}
