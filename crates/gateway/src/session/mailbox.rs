//! Messages for a client that may not be listening right now, numbered in order, so that a
//! stream that broke is picked up where it ended.

use std::collections::VecDeque;
use std::sync::Mutex;

use kitbag_wire::Message;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::sync::lock;

/// What is kept for a client that stays away; older messages are dropped.
const KEPT: usize = 256;

#[derive(Default)]
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    arrived: Notify,
    closed: CancellationToken,
}

#[derive(Default)]
struct Letters {
    /// The number of the first message that is still kept.
    first: u64,
    messages: VecDeque<Message>,
}

impl Mailbox {
    pub(crate) fn put(&self, message: Message) {
        let mut letters = lock(&self.letters);
        if letters.messages.len() == KEPT {
            letters.messages.pop_front();
            letters.first += 1;
        }
        letters.messages.push_back(message);
        drop(letters);
        self.arrived.notify_waiters();
    }

    /// The first message numbered `from` or later, with its number, once there is one;
    /// nothing when the box was closed and all before it was read.
    pub(crate) async fn next(&self, from: u64) -> Option<(u64, Message)> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(found) = self.at(from) {
                return Some(found);
            }
            if self.closed.is_cancelled() {
                return None;
            }
            tokio::select! {
                () = arrived => {}
                () = self.closed.cancelled() => {}
            }
        }
    }

    /// Nothing more will be put in; what is there can still be read.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    fn at(&self, from: u64) -> Option<(u64, Message)> {
        let letters = lock(&self.letters);
        let number = from.max(letters.first);
        let index = usize::try_from(number - letters.first).ok()?;
        letters.messages.get(index).map(|message| (number, message.clone()))
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::Notification;

    use super::*;

    #[tokio::test]
    async fn a_reader_that_comes_back_gets_what_it_missed_and_then_the_end() {
        let mailbox = Mailbox::default();
        for number in 0..300 {
            mailbox.put(Notification::new(format!("n{number}"), None).into());
        }
        mailbox.close();
        let (number, _) = mailbox.next(0).await.unwrap();
        assert_eq!(number, 300 - KEPT as u64);
        assert_eq!(mailbox.next(299).await.unwrap().0, 299);
        assert!(mailbox.next(300).await.is_none());
    }
}
