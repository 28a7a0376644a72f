//! Messages for a client that may not be listening right now, numbered in order, so that a
//! stream that broke is picked up where it ended.

use std::collections::VecDeque;
use std::sync::Mutex;

use kitbag_wire::Message;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::front::in_flight::OutgoingMessage;
use kitbag_domain::sync::lock;

/// The number of messages that are kept for a client that stays away; older messages are dropped.
const KEPT: usize = 256;
/// The same for their length, the latest message apart: that may be an answer.
const KEPT_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct Mailbox {
    letters: Mutex<Messages>,
    arrived: Notify,
    closed: CancellationToken,
}

#[derive(Default)]
struct Messages {
    /// The number of the first message that is still kept.
    first: u64,
    /// The number of the first message that no reader has taken yet.
    untaken: u64,
    messages: VecDeque<OutgoingMessage>,
    /// The length of all messages.
    length: usize,
}

impl Mailbox {
    pub(crate) fn put(&self, message: impl Into<OutgoingMessage>) {
        let message = message.into();
        let mut letters = lock(&self.letters);
        while letters.messages.len() == KEPT || letters.length > KEPT_BYTES {
            letters.drop_oldest();
        }
        letters.length += message.message_length();
        letters.messages.push_back(message);
        drop(letters);
        self.arrived.notify_waiters();
    }

    /// The first message numbered `from` or later, with its number, once there is one;
    /// nothing when the box was closed and all before it was read.
    pub(crate) async fn next(&self, from: u64) -> Option<(u64, Message)> {
        self.wait_for(|letters| letters.first_from(from)).await
    }

    /// Returns the first message that no reader has taken yet, once there is one and this reader
    /// may have it.
    pub(crate) async fn take_next(&self, may: impl Fn() -> bool) -> Option<(u64, Message)> {
        self.wait_for(|letters| {
            let found = letters.first_from(letters.untaken).filter(|_| may())?;
            letters.untaken = found.0 + 1;
            Some(found)
        })
        .await
    }

    /// Returns the first message numbered `from` or later that a reader has taken, for a reader
    /// that was cut off before the message arrived.
    pub(crate) fn taken_since(&self, from: u64) -> Option<(u64, Message)> {
        let letters = lock(&self.letters);
        letters
            .first_from(from)
            .filter(|(number, _)| *number < letters.untaken)
    }

    async fn wait_for(
        &self,
        look: impl Fn(&mut Messages) -> Option<(u64, Message)>,
    ) -> Option<(u64, Message)> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(found) = look(&mut lock(&self.letters)) {
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

    /// Returns the length of all messages that are kept here.
    pub(crate) fn total_length(&self) -> usize {
        lock(&self.letters).length
    }

    /// Wakes the readers that wait, because one of them may now have what it could not before.
    pub(crate) fn wake_readers(&self) {
        self.arrived.notify_waiters();
    }

    /// Closes the mailbox: no more messages are put in, and those that are there can still be read.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }
}

impl Messages {
    fn drop_oldest(&mut self) {
        if let Some(gone) = self.messages.pop_front() {
            self.length -= gone.message_length();
            self.first += 1;
        }
    }

    fn first_from(&self, from: u64) -> Option<(u64, Message)> {
        let number = from.max(self.first);
        let index = usize::try_from(number - self.first).ok()?;
        self.messages
            .get(index)
            .map(|it| (number, it.message.clone()))
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
            mailbox.put(Message::from(Notification::new(format!("n{number}"), None)));
        }
        mailbox.close();
        let (number, _) = mailbox.next(0).await.unwrap();
        assert_eq!(number, 300 - KEPT as u64);
        assert_eq!(mailbox.next(299).await.unwrap().0, 299);
        assert!(mailbox.next(300).await.is_none());
    }

    #[test]
    fn what_is_kept_for_a_client_that_stays_away_has_a_length() {
        let mailbox = Mailbox::default();
        let long = kitbag_wire::raw(&"x".repeat(1 << 20));
        for _ in 0..20 {
            mailbox.put(Message::from(Notification::new("n", Some(long.clone()))));
        }
        assert!(
            mailbox.total_length() <= KEPT_BYTES + (2 << 20),
            "{}",
            mailbox.total_length()
        );
    }

    #[tokio::test]
    async fn what_one_reader_has_taken_another_gets_only_by_asking_for_it_again() {
        let mailbox = Mailbox::default();
        for number in 0..3 {
            mailbox.put(Message::from(Notification::new(format!("n{number}"), None)));
        }
        mailbox.close();
        assert!(mailbox.taken_since(0).is_none());
        assert_eq!(mailbox.take_next(|| true).await.unwrap().0, 0);
        assert_eq!(mailbox.take_next(|| true).await.unwrap().0, 1);
        assert_eq!(mailbox.taken_since(1).unwrap().0, 1);
        assert!(mailbox.taken_since(2).is_none());
        assert_eq!(mailbox.take_next(|| true).await.unwrap().0, 2);
        assert!(mailbox.take_next(|| true).await.is_none());
    }
}
