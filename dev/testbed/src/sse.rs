//! The transport of 2024-11-05: messages to the client on one stream, messages from it by POST.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream;
use kitbag_domain::sync::lock;
use kitbag_wire::{Era, Message, sse};
use serde::Deserialize;

use crate::connected_client::ConnectedClient;
use crate::dispatch;
use crate::http::{event_stream, listen, new_id, only_local};
use crate::outbox::{Outbox, OutboxItem};
use crate::server::TestServer;

pub(crate) async fn serve(server: Arc<TestServer>, port: u16) -> anyhow::Result<()> {
    let state = Arc::new(SseState {
        server,
        peers: Mutex::new(HashMap::new()),
    });
    let router = Router::new()
        .route("/sse", get(open))
        .route("/messages", post(receive))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(only_local))
        .with_state(state);
    listen(router, port, "/sse").await
}

#[derive(Debug)]
struct SseState {
    server: Arc<TestServer>,
    peers: Mutex<HashMap<String, Arc<ConnectedClient>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sender {
    session_id: String,
}

async fn open(State(state): State<Arc<SseState>>) -> Response {
    let (outbox, outgoing) = Outbox::channel();
    let id = new_id();
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n").into_bytes();
    state
        .lock()
        .insert(id.clone(), Arc::new(ConnectedClient::new(outbox)));
    let sse_stream = OpenSseStream { state, id };
    event_stream(stream::unfold(
        (Some(endpoint), outgoing, sse_stream),
        |(at_hand, mut outgoing, sse_stream)| async {
            let event = match at_hand {
                Some(event) => event,
                None => loop {
                    if let OutboxItem::Message(message) = outgoing.recv().await? {
                        break sse::encode_event(&message);
                    }
                },
            };
            Some((event, (None, outgoing, sse_stream)))
        },
    ))
}

async fn receive(
    State(state): State<Arc<SseState>>,
    Query(sender): Query<Sender>,
    body: Bytes,
) -> Response {
    let Some(peer) = state.lock().get(&sender.session_id).cloned() else {
        return (StatusCode::NOT_FOUND, "unknown session").into_response();
    };
    match Message::parse(&body) {
        Ok(Message::Request(request)) => {
            dispatch::start(&state.server, &peer, Era::Legacy, request, &peer.general);
        }
        Ok(other) => {
            dispatch::receive(&state.server, &peer, other);
        }
        Err(why) => return (StatusCode::BAD_REQUEST, why.to_string()).into_response(),
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}

/// The stream of a session; the session ends with it.
struct OpenSseStream {
    state: Arc<SseState>,
    id: String,
}

impl Drop for OpenSseStream {
    fn drop(&mut self) {
        let Some(peer) = self.state.lock().remove(&self.id) else {
            return;
        };
        peer.cancel_all();
        if let Some(greeting) = peer.handshake() {
            self.state.server.listeners.remove(greeting.listener);
        }
    }
}

impl SseState {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<ConnectedClient>>> {
        lock(&self.peers)
    }
}
