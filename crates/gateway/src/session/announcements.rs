//! What a client is told without having asked: list changes and resource updates.
//!
//! A legacy session has one subscriber for its whole life, a modern client one for each
//! `subscriptions/listen`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use kitbag_domain::Caller;

use super::mailbox::Mailbox;
use crate::sync::lock;
use crate::turn::View;

pub(crate) struct Subscriber {
    pub(crate) caller: Caller,
    pub(crate) view: View,
    pub(crate) mailbox: Mailbox,
    filter: Mutex<Filter>,
    listeners: AtomicUsize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: BTreeSet<String>,
}

impl Filter {
    pub(crate) fn everything() -> Self {
        Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new() }
    }
}

impl Subscriber {
    pub(crate) fn new(caller: Caller, view: View, filter: Filter) -> Self {
        let (mailbox, listeners) = (Mailbox::default(), AtomicUsize::new(0));
        Self { caller, view, mailbox, filter: Mutex::new(filter), listeners }
    }

    pub(crate) fn filter(&self) -> MutexGuard<'_, Filter> {
        lock(&self.filter)
    }

    /// Says that somebody reads the mailbox, for as long as the answer is kept.
    pub(crate) fn listening(&self) -> Listening<'_> {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening(self)
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }
}

pub(crate) struct Listening<'a>(&'a Subscriber);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}
