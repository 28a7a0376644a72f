//! Legacy HTTP: sessions, a stream for messages without a request, and resumable streams.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::stream;
use kitbag_domain::sync::lock;
use kitbag_wire::meta::{code, method};
use kitbag_wire::{Era, ErrorObject, Message, ProtocolVersion, Request, Response as Answer};

use super::stream::{StreamLog, parse_event_id};
use super::{HttpState, VERSION_HEADER, event_stream, json, text};
use crate::call::CallEnd;
use crate::cli::Misbehaviour;
use crate::connected_client::ConnectedClient;
use crate::dispatch::{self, method_not_found};
use crate::outbox::{Outbox, OutboxItem};

#[derive(Debug)]
pub(super) struct LegacySession {
    peer: Arc<ConnectedClient>,
    general: Arc<StreamLog>,
    streams: Mutex<HashMap<String, Arc<StreamLog>>>,
    next_stream: AtomicUsize,
}

pub(super) async fn receive(state: &HttpState, headers: &HeaderMap, message: Message) -> Response {
    if let Message::Request(request) = &message
        && request.method == method::INITIALIZE
    {
        return open_session(state, request.clone()).await;
    }
    let session = match session(state, headers) {
        Ok(session) => session,
        Err(refusal) => {
            return refusal
                .into_response(&message, state.server.has(Misbehaviour::NoDiscoverAnswer))
                .await;
        }
    };
    match message {
        Message::Request(request) => serve(state, &session, request).await,
        Message::Notification(notification) => {
            dispatch::notice(&state.server, &session.peer, &notification);
            StatusCode::ACCEPTED.into_response()
        }
        Message::Response(response) => {
            session.peer.resolve_question(response);
            StatusCode::ACCEPTED.into_response()
        }
    }
}

/// Serves GET: the stream of the session, or the rest of a broken stream.
pub(super) async fn open_stream(
    State(state): State<Arc<HttpState>>,
    headers: HeaderMap,
) -> Response {
    if !state.server.era.speaks(Era::Legacy) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let session = match session(&state, &headers) {
        Ok(session) => session,
        Err(refusal) => return refusal.status().into_response(),
    };
    let Some(last) = text(&headers, "last-event-id") else {
        let general = session.general.clone();
        let from = general.delivered_count();
        return event_stream(general.resume(from, session.primes()));
    };
    let resumed = parse_event_id(last).and_then(|(name, from)| Some((session.stream(name)?, from)));
    match resumed {
        Some((stream, from)) => event_stream(stream.resume(from, session.primes())),
        None => (StatusCode::BAD_REQUEST, "unknown event id").into_response(),
    }
}

pub(super) async fn end_session(
    State(state): State<Arc<HttpState>>,
    headers: HeaderMap,
) -> Response {
    if !state.server.era.speaks(Era::Legacy) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let session = match session(&state, &headers) {
        Ok(session) => session,
        Err(refusal) => return refusal.status().into_response(),
    };
    state
        .lock()
        .retain(|_, other| !Arc::ptr_eq(other, &session));
    session.peer.cancel_all();
    if let Some(greeting) = session.peer.handshake() {
        state.server.listeners.remove(greeting.listener);
    }
    StatusCode::NO_CONTENT.into_response()
}

const SESSION_HEADER: &str = "mcp-session-id";
const GENERAL: &str = "general";

async fn open_session(state: &HttpState, request: Request) -> Response {
    let (general, for_general) = Outbox::channel();
    let peer = Arc::new(ConnectedClient::new(general));
    let session = Arc::new(LegacySession {
        peer,
        general: StreamLog::record(GENERAL.to_owned(), None, for_general),
        streams: Mutex::new(HashMap::new()),
        next_stream: AtomicUsize::new(1),
    });
    let mut response = serve(state, &session, request).await;
    if session.peer.handshake().is_some() {
        let id = new_id();
        let value = HeaderValue::from_str(&id).expect("hexadecimal fits a header");
        response.headers_mut().insert(SESSION_HEADER, value);
        state.lock().insert(id, session);
    }
    response
}

/// Sends an answer without other messages as JSON, and otherwise as a stream.
async fn serve(state: &HttpState, session: &LegacySession, request: Request) -> Response {
    let (outbox, mut outgoing) = Outbox::channel();
    dispatch::start(&state.server, &session.peer, Era::Legacy, request, &outbox);
    drop(outbox);
    match outgoing.recv().await {
        Some(OutboxItem::Message(Message::Response(answer))) => json(StatusCode::OK, answer),
        Some(first) => {
            let stream = session.record(first, outgoing);
            event_stream(stream.read(session.primes()))
        }
        // A cancelled request is not answered; its POST ends as an empty stream.
        None => event_stream(stream::empty()),
    }
}

fn session(state: &HttpState, headers: &HeaderMap) -> Result<Arc<LegacySession>, SessionRefusal> {
    let id = text(headers, SESSION_HEADER).ok_or(SessionRefusal::NoSession)?;
    let session = state
        .lock()
        .get(id)
        .cloned()
        .ok_or(SessionRefusal::UnknownSession)?;
    let version = text(headers, VERSION_HEADER).map(ProtocolVersion::parse);
    match version {
        None => Ok(session),
        Some(Some(version)) if version.era() == Era::Legacy => Ok(session),
        Some(_) => Err(SessionRefusal::UnknownVersion),
    }
}

#[derive(Debug, Clone, Copy)]
enum SessionRefusal {
    NoSession,
    UnknownSession,
    UnknownVersion,
}

impl SessionRefusal {
    fn status(self) -> StatusCode {
        match self {
            Self::NoSession | Self::UnknownVersion => StatusCode::BAD_REQUEST,
            Self::UnknownSession => StatusCode::NOT_FOUND,
        }
    }

    async fn into_response(self, message: &Message, silent: bool) -> Response {
        let Message::Request(request) = message else {
            return self.status().into_response();
        };
        if silent && matches!(self, Self::NoSession) {
            std::future::pending::<()>().await;
        }
        let error = match (self, method_not_found(&request.method)) {
            (Self::NoSession, CallEnd::Error(error)) => error,
            (Self::UnknownVersion, _) => {
                ErrorObject::new(code::INVALID_REQUEST, "unsupported protocol version")
            }
            (Self::NoSession | Self::UnknownSession, _) => {
                ErrorObject::new(code::INVALID_REQUEST, "unknown session")
            }
        };
        json(
            self.status(),
            Answer::from_error(Some(request.id.clone()), error),
        )
    }
}

impl HttpState {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<LegacySession>>> {
        lock(&self.sessions)
    }
}

impl LegacySession {
    /// Clients before 2025-11-25 do not expect an event without data.
    fn primes(&self) -> bool {
        self.peer
            .handshake()
            .is_some_and(|greeting| greeting.version >= ProtocolVersion::V2025_11_25)
    }

    fn record(
        &self,
        first: OutboxItem,
        rest: tokio::sync::mpsc::UnboundedReceiver<OutboxItem>,
    ) -> Arc<StreamLog> {
        let name = format!("stream-{}", self.next_stream.fetch_add(1, Ordering::SeqCst));
        let stream = StreamLog::record(name.clone(), Some(first), rest);
        lock(&self.streams).insert(name, stream.clone());
        stream
    }

    fn stream(&self, name: &str) -> Option<Arc<StreamLog>> {
        if name == GENERAL {
            return Some(self.general.clone());
        }
        lock(&self.streams).get(name).cloned()
    }
}

pub(crate) fn new_id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
