//! Where messages to one client, or to one stream of it, are dropped for sending.

use kitbag_wire::Message;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[derive(Debug)]
pub(crate) enum Outgoing {
    Message(Message),
    /// The server hangs up on this stream, though more is to come: the client has to resume.
    Cut,
}

#[derive(Debug, Clone)]
pub(crate) struct Outbox(UnboundedSender<Outgoing>);

impl Outbox {
    pub(crate) fn channel() -> (Self, UnboundedReceiver<Outgoing>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// A client that has gone away misses the message, as it would on a real wire.
    pub(crate) fn send(&self, message: impl Into<Message>) {
        let _ = self.0.send(Outgoing::Message(message.into()));
    }

    pub(crate) fn cut(&self) {
        let _ = self.0.send(Outgoing::Cut);
    }
}
