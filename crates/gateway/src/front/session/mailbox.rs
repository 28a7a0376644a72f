//! Messages for a client that may be disconnected, numbered in order, so that a broken stream can
//! be resumed.

use std::collections::VecDeque;
use std::sync::Mutex;

use kitbag_wire::Message;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::front::in_flight::OutgoingMessage;
use kitbag_domain::sync::lock;

/// The most messages stored for a disconnected client; older messages are dropped.
const MAX_MESSAGES: usize = 256;
/// The most bytes of those messages, except the latest message: that may be an answer.
const MAX_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct Mailbox {
    state: Mutex<Messages>,
    arrived: Notify,
    closed: CancellationToken,
}

#[derive(Default)]
struct Messages {
    /// The number of the first message that is still available.
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
        let mut state = lock(&self.state);
        while state.messages.len() == MAX_MESSAGES || state.length > MAX_BYTES {
            state.drop_oldest();
        }
        state.length += message.message_length();
        state.messages.push_back(message);
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Waits for the first message numbered `from` or later, and returns it with its number; `None`
    /// when the mailbox is closed and all earlier messages were read.
    pub(crate) async fn next(&self, from: u64) -> Option<(u64, Message)> {
        self.wait_for(|state| state.first_from(from)).await
    }

    /// Waits until there is a message that no reader has taken and `may` returns true. Takes the
    /// message, and returns it with its number.
    pub(crate) async fn take_next(&self, may: impl Fn() -> bool) -> Option<(u64, Message)> {
        self.wait_for(|state| {
            let found = state.first_from(state.untaken).filter(|_| may())?;
            state.untaken = found.0 + 1;
            Some(found)
        })
        .await
    }

    /// Returns the first message numbered `from` or later that a reader has taken, for a reader
    /// that was disconnected before it arrived.
    pub(crate) fn taken_since(&self, from: u64) -> Option<(u64, Message)> {
        let state = lock(&self.state);
        state
            .first_from(from)
            .filter(|(number, _)| *number < state.untaken)
    }

    async fn wait_for(
        &self,
        find: impl Fn(&mut Messages) -> Option<(u64, Message)>,
    ) -> Option<(u64, Message)> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(found) = find(&mut lock(&self.state)) {
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

    /// Returns the length of all stored messages.
    pub(crate) fn total_length(&self) -> usize {
        lock(&self.state).length
    }

    /// Wakes the waiting readers, because one of them may now be allowed to read.
    pub(crate) fn wake_readers(&self) {
        self.arrived.notify_waiters();
    }

    /// Closes the mailbox: no more messages are added, and the existing ones can still be read.
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
    async fn a_returning_reader_gets_the_missed_messages_and_then_the_end() {
        let mailbox = Mailbox::default();
        for number in 0..300 {
            mailbox.put(Message::from(Notification::new(format!("n{number}"), None)));
        }
        mailbox.close();
        let (number, _) = mailbox.next(0).await.unwrap();
        assert_eq!(number, 300 - MAX_MESSAGES as u64);
        assert_eq!(mailbox.next(299).await.unwrap().0, 299);
        assert!(mailbox.next(300).await.is_none());
    }

    #[test]
    fn messages_for_a_disconnected_client_have_a_size_limit() {
        let mailbox = Mailbox::default();
        let long = kitbag_wire::raw(&"x".repeat(1 << 20));
        for _ in 0..20 {
            mailbox.put(Message::from(Notification::new("n", Some(long.clone()))));
        }
        assert!(
            mailbox.total_length() <= MAX_BYTES + (2 << 20),
            "{}",
            mailbox.total_length()
        );
    }

    #[tokio::test]
    async fn a_taken_message_is_returned_only_on_request() {
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
