//! The transport to one server: a pipe shared by all messages, or HTTP with a stream per request.

use std::sync::{Arc, OnceLock, Weak};

use http::{HeaderName, HeaderValue};
use kitbag_wire::{Message, Request, Response};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http::HttpLink;
use crate::send_queue::{QueueFull, QueuedMessages, SendQueue, StuckServer};

#[derive(Clone)]
pub(crate) enum Link {
    Pipe(PipeLink),
    Http(Arc<HttpLink>),
}

/// A request with the headers that only HTTP uses.
pub(crate) struct OutgoingRequest {
    pub(crate) request: Request,
    pub(crate) id: i64,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Clone)]
pub(crate) struct PipeLink {
    pub(crate) queue: SendQueue,
    pub(crate) closed: CloseSignal,
}

/// The reason of a connection that the gateway ended.
pub(crate) const STOPPED_BY_US: &str = "stopped";

/// Signals that a connection has ended, and why.
#[derive(Clone, Default)]
pub(crate) struct CloseSignal {
    token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl PipeLink {
    pub(crate) fn new() -> (Self, QueuedMessages) {
        let (queue, messages) = SendQueue::new_pair();
        let closed = CloseSignal::default();
        (Self { queue, closed }, messages)
    }
}

impl Link {
    /// A closed pipe fails every pending request by itself.
    pub(crate) fn send(&self, packet: OutgoingRequest) -> Result<(), QueueFull> {
        match self {
            Self::Pipe(pipe) => pipe.queue.push_message(&packet.request.into()),
            Self::Http(http) => {
                http.send_request(packet);
                Ok(())
            }
        }
    }

    /// Sends a notification. It is dropped if too much is already queued.
    pub(crate) fn notify(&self, message: Message) {
        match self {
            Self::Pipe(pipe) => drop(pipe.queue.push_message(&message)),
            Self::Http(http) => http.notify(message),
        }
    }

    pub(crate) fn close_signal(&self) -> &CloseSignal {
        match self {
            Self::Pipe(pipe) => &pipe.closed,
            Self::Http(http) => &http.closed,
        }
    }
}

/// Sends answers to a server's own requests, over either transport.
#[derive(Clone)]
pub(crate) enum ReplySender {
    Pipe(SendQueue),
    Http(Weak<HttpLink>),
}

impl ReplySender {
    pub(crate) fn reply(&self, response: Response) {
        drop(self.begin_reply(response));
    }

    /// Returns once the answer is certain to arrive before every later message.
    pub(crate) async fn reply_first(&self, response: Response) {
        if let Some(posting) = self.begin_reply(response) {
            let _ = posting.await;
        }
    }

    fn begin_reply(&self, response: Response) -> Option<JoinHandle<()>> {
        match self {
            Self::Pipe(outgoing) => {
                outgoing.push_reply(&response.into());
                None
            }
            Self::Http(link) => link.upgrade()?.reply(response),
        }
    }

    /// Returns when the server has read most of the queued answers. The task that reads from it
    /// waits for that.
    pub(crate) async fn wait_for_room(&self) -> Result<(), StuckServer> {
        match self {
            Self::Pipe(outgoing) => outgoing.wait_for_room().await,
            Self::Http(link) => match link.upgrade() {
                Some(link) => link.replies.wait_for_room().await,
                None => Ok(()),
            },
        }
    }
}

impl CloseSignal {
    pub(crate) fn close(&self, reason: impl Into<String>) {
        let _ = self.reason.set(reason.into());
        self.token.cancel();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) fn reason(&self) -> &str {
        self.reason
            .get()
            .map_or("the connection closed", String::as_str)
    }

    pub(crate) async fn wait(&self) {
        self.token.cancelled().await;
    }
}
