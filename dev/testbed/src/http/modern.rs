//! Modern HTTP: one POST, one answer, and no state in between.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use kitbag_wire::meta::code;
use kitbag_wire::{Era, Message, Response as Answer, sse};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::DropGuard;

use super::{event_stream, headers, json};
use crate::connected_client::ConnectedClient;
use crate::dispatch;
use crate::outbox::{Outbox, OutboxItem};
use crate::server::TestServer;

pub(super) async fn receive(
    server: &Arc<TestServer>,
    headers: &HeaderMap,
    message: Message,
) -> Response {
    let Message::Request(request) = message else {
        return StatusCode::ACCEPTED.into_response();
    };
    if let Err(error) = headers::check(headers, &request) {
        return json(
            StatusCode::BAD_REQUEST,
            Answer::from_error(Some(request.id), error),
        );
    }
    let (outbox, mut outgoing) = Outbox::channel();
    let (nowhere, _) = Outbox::channel();
    let peer = Arc::new(ConnectedClient::new(nowhere));
    let started = dispatch::start(server, &peer, Era::Modern, request, &outbox);
    drop(outbox);
    // A client that closes the connection before the answer has cancelled: then this future or the
    // stream is dropped.
    let hung_up = started.cancel.drop_guard();
    match next(&mut outgoing).await {
        Some(Message::Response(answer)) => {
            hung_up.disarm();
            json(status_of(&answer), answer)
        }
        Some(first) => event_stream(events(first, outgoing, hung_up)),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Streams the first message and the following ones, up to the answer.
fn events(
    first: Message,
    outgoing: UnboundedReceiver<OutboxItem>,
    hung_up: DropGuard,
) -> impl Stream<Item = Vec<u8>> {
    stream::unfold(
        (Some(first), outgoing, hung_up),
        |(at_hand, mut outgoing, hung_up)| async {
            let message = match at_hand {
                Some(message) => message,
                None => next(&mut outgoing).await?,
            };
            if matches!(message, Message::Response(_)) {
                outgoing.close();
            }
            Some((sse::encode_event(&message), (None, outgoing, hung_up)))
        },
    )
}

async fn next(outgoing: &mut UnboundedReceiver<OutboxItem>) -> Option<Message> {
    loop {
        match outgoing.recv().await? {
            OutboxItem::Message(message) => return Some(message),
            // Modern streams cannot be resumed, so they are not cut either.
            OutboxItem::Cut => {}
        }
    }
}

fn status_of(answer: &Answer) -> StatusCode {
    match answer.outcome.as_ref().map_err(|error| error.code) {
        Err(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Err(
            code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
