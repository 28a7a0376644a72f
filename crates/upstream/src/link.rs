//! The way messages travel to one server: a pipe where everything shares one channel, or
//! HTTP where each request has a stream of its own.

use std::sync::{Arc, OnceLock, Weak};

use http::{HeaderName, HeaderValue};
use kitbag_wire::{Message, Request, Response};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http::HttpLink;
use crate::outgoing::{Full, Outgoing, Stuck};

#[derive(Clone)]
pub(crate) enum Link {
    Pipe(Pipe),
    Http(Arc<HttpLink>),
}

/// A request with what only HTTP can carry beside it.
pub(crate) struct Packet {
    pub(crate) request: Request,
    pub(crate) id: i64,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Clone)]
pub(crate) struct Pipe {
    pub(crate) outgoing: Outgoing,
    pub(crate) closed: Closed,
}

/// Why a connection ended that we had no more use for.
pub(crate) const BY_US: &str = "stopped";

/// Whether a connection has ended, and why.
#[derive(Clone, Default)]
pub(crate) struct Closed {
    token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl Link {
    /// A pipe that has closed fails every pending request by itself.
    pub(crate) fn send(&self, packet: Packet) -> Result<(), Full> {
        match self {
            Self::Pipe(pipe) => pipe.outgoing.request(&packet.request.into()),
            Self::Http(http) => {
                http.request(packet);
                Ok(())
            }
        }
    }

    /// Sends a notification. A server that has too much to read already goes without.
    pub(crate) fn tell(&self, message: Message) {
        match self {
            Self::Pipe(pipe) => drop(pipe.outgoing.request(&message)),
            Self::Http(http) => http.tell(message),
        }
    }

    pub(crate) fn closed(&self) -> &Closed {
        match self {
            Self::Pipe(pipe) => &pipe.closed,
            Self::Http(http) => &http.closed,
        }
    }
}

/// Where our answers to a server's own requests leave; each transport has its way.
#[derive(Clone)]
pub(crate) enum Outlet {
    Pipe(Outgoing),
    Http(Weak<HttpLink>),
}

impl Outlet {
    pub(crate) fn reply(&self, response: Response) {
        drop(self.begin_reply(response));
    }

    /// Comes back when whatever is sent next will arrive after the answer.
    pub(crate) async fn reply_first(&self, response: Response) {
        if let Some(posting) = self.begin_reply(response) {
            let _ = posting.await;
        }
    }

    fn begin_reply(&self, response: Response) -> Option<JoinHandle<()>> {
        match self {
            Self::Pipe(outgoing) => {
                outgoing.reply(&response.into());
                None
            }
            Self::Http(link) => link.upgrade()?.reply(response),
        }
    }

    /// Comes back when the server has taken most of our answers. What reads from it waits for that.
    pub(crate) async fn room(&self) -> Result<(), Stuck> {
        match self {
            Self::Pipe(outgoing) => outgoing.room().await,
            Self::Http(link) => match link.upgrade() {
                Some(link) => link.replies.room().await,
                None => Ok(()),
            },
        }
    }
}

impl Closed {
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
