//! The transport of 2024-11-05: everything to the client on one stream, everything from it by POST.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream;
use kitbag_wire::{Era, Message, sse};
use serde::Deserialize;

use crate::dispatch;
use crate::http::{event_stream, listen, new_id, only_local};
use crate::outbox::{Outbox, Outgoing};
use crate::peer::Peer;
use crate::server::Server;

pub(crate) async fn serve(server: Arc<Server>, port: u16) -> anyhow::Result<()> {
    let house = Arc::new(House {
        server,
        peers: Mutex::new(HashMap::new()),
    });
    let router = Router::new()
        .route("/sse", get(open))
        .route("/messages", post(receive))
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(only_local))
        .with_state(house);
    listen(router, port, "/sse").await
}

#[derive(Debug)]
struct House {
    server: Arc<Server>,
    peers: Mutex<HashMap<String, Arc<Peer>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sender {
    session_id: String,
}

async fn open(State(house): State<Arc<House>>) -> Response {
    let (outbox, outgoing) = Outbox::channel();
    let id = new_id();
    let endpoint = format!("event: endpoint\ndata: /messages?sessionId={id}\n\n").into_bytes();
    house.lock().insert(id.clone(), Arc::new(Peer::new(outbox)));
    let visit = Visit { house, id };
    event_stream(stream::unfold(
        (Some(endpoint), outgoing, visit),
        |(at_hand, mut outgoing, visit)| async {
            let event = match at_hand {
                Some(event) => event,
                None => loop {
                    if let Outgoing::Message(message) = outgoing.recv().await? {
                        break sse::event(&message);
                    }
                },
            };
            Some((event, (None, outgoing, visit)))
        },
    ))
}

async fn receive(
    State(house): State<Arc<House>>,
    Query(sender): Query<Sender>,
    body: Bytes,
) -> Response {
    let Some(peer) = house.lock().get(&sender.session_id).cloned() else {
        return (StatusCode::NOT_FOUND, "unknown session").into_response();
    };
    match Message::parse(&body) {
        Ok(Message::Request(request)) => {
            dispatch::start(&house.server, &peer, Era::Legacy, request, &peer.general);
        }
        Ok(other) => {
            dispatch::receive(&house.server, &peer, other);
        }
        Err(why) => return (StatusCode::BAD_REQUEST, why.to_string()).into_response(),
    }
    (StatusCode::ACCEPTED, "Accepted").into_response()
}

/// The session lasts as long as its stream is held open.
struct Visit {
    house: Arc<House>,
    id: String,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let Some(peer) = self.house.lock().remove(&self.id) else {
            return;
        };
        peer.cancel_all();
        if let Some(greeting) = peer.greeting() {
            self.house.server.listeners.remove(greeting.listener);
        }
    }
}

impl House {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Peer>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
