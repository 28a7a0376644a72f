//! The way messages travel to one server: a pipe where everything shares one channel, or
//! HTTP where each request has a stream of its own.

use std::sync::{Arc, OnceLock};

use http::{HeaderMap, HeaderName, HeaderValue};
use kitbag_wire::{Message, Request};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http::HttpLink;

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
    pub(crate) outgoing: mpsc::UnboundedSender<Message>,
    pub(crate) closed: Closed,
}

/// Whether a connection has ended, and why.
#[derive(Clone, Default)]
pub(crate) struct Closed {
    token: CancellationToken,
    reason: Arc<OnceLock<String>>,
}

impl Link {
    pub(crate) fn send(&self, packet: Packet) {
        match self {
            Self::Pipe(pipe) => pipe.send(packet.request.into()),
            Self::Http(http) => http.request(packet),
        }
    }

    /// Sends what expects no answer: a notification, or our answer to a question.
    pub(crate) fn tell(&self, message: Message) {
        match self {
            Self::Pipe(pipe) => pipe.send(message),
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

impl Pipe {
    fn send(&self, message: Message) {
        // A pipe that has closed fails every pending request by itself.
        let _ = self.outgoing.send(message);
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
        self.reason.get().map_or("the connection closed", String::as_str)
    }

    pub(crate) async fn wait(&self) {
        self.token.cancelled().await;
    }
}

/// Headers a person configured, checked once.
pub(crate) fn header_map(headers: impl IntoIterator<Item = (String, String)>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key =
            HeaderName::try_from(name.as_str()).map_err(|_| format!("`{name}` is not a header name"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of the header `{name}` has characters HTTP does not allow"))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}
