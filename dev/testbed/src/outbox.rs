//! The queue of messages to one client, or to one of its streams.

use kitbag_wire::Message;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[derive(Debug)]
pub(crate) enum OutboxItem {
    Message(Message),
    /// The server closes this stream although more messages follow: the client has to resume.
    Cut,
}

#[derive(Debug, Clone)]
pub(crate) struct Outbox(UnboundedSender<OutboxItem>);

impl Outbox {
    pub(crate) fn channel() -> (Self, UnboundedReceiver<OutboxItem>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// A disconnected client misses the message, as it would on a real connection.
    pub(crate) fn send(&self, message: impl Into<Message>) {
        let _ = self.0.send(OutboxItem::Message(message.into()));
    }

    pub(crate) fn cut(&self) {
        let _ = self.0.send(OutboxItem::Cut);
    }
}
