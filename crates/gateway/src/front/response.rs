//! Sends responses over HTTP, as plain JSON or as an event stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response as HttpResponse};
use futures::{Stream, StreamExt};
use http::StatusCode;
use http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    WWW_AUTHENTICATE,
};
use kitbag_wire::{Era, Message, RequestId, Response, sse};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::chunked_body::reserve_until_sent;
use super::request_task::RequestTask;
use crate::call::failure::Failure;
use crate::call::reply;
use crate::front::in_flight::OutgoingMessage;
use crate::front::session::Session;
use crate::front::session::mailbox::Mailbox;
use crate::front::session::streams::EventId;
use crate::telemetry::rejections::Rejection;

const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
/// The interval of keep-alive events on a silent stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long the rest of a long answer stays available to a client whose connection broke.
const RESUME_WINDOW: Duration = Duration::from_secs(60);

/// Responds to a modern client. Dropping the stream drops `cancel_on_drop`, which cancels the
/// request.
pub(super) async fn respond_modern(
    work: RequestTask,
    mut messages: mpsc::Receiver<OutgoingMessage>,
    cancel_on_drop: DropGuard,
) -> HttpResponse {
    let Some(first) = work.first_message(&mut messages).await else {
        return StatusCode::NO_CONTENT.into_response();
    };
    if let Message::Response(response) = &first.message {
        cancel_on_drop.disarm();
        return single_message(reply::http_status(Era::Modern, response), first);
    }
    // A message's bytes count for the caller until the next message is polled.
    let state = (Some(first), messages, cancel_on_drop, None);
    event_stream(futures::stream::unfold(
        state,
        |(first, mut messages, cancel_on_drop, _out)| async move {
            let OutgoingMessage {
                message,
                reservation,
            } = match first {
                Some(first) => first,
                None => messages.recv().await?,
            };
            Some((
                Bytes::from(sse::encode_event(&message)),
                (None, messages, cancel_on_drop, reservation),
            ))
        },
    ))
}

/// Responds to a legacy client. A stream goes through a mailbox, from which the client can fetch
/// the rest if its connection breaks.
pub(super) async fn respond_legacy(
    work: RequestTask,
    session: Arc<Session>,
    mut messages: mpsc::Receiver<OutgoingMessage>,
) -> HttpResponse {
    let Some(first) = work.first_message(&mut messages).await else {
        return StatusCode::NO_CONTENT.into_response();
    };
    if let Message::Response(response) = &first.message {
        return single_message(reply::http_status(Era::Legacy, response), first);
    }
    let (stream, mailbox) = session.streams.open_stream();
    mailbox.put(first);
    let (sink, owner) = (mailbox.clone(), session.clone());
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            sink.put(message);
        }
        sink.close();
        tokio::time::sleep(RESUME_WINDOW).await;
        owner.streams.drop_if_long(stream);
    });
    resume_stream(session, mailbox, stream, 0)
}

/// Returns the stream of one answer, starting at a message number.
pub(super) fn resume_stream(
    session: Arc<Session>,
    mailbox: Arc<Mailbox>,
    stream: u64,
    from: u64,
) -> HttpResponse {
    event_stream(futures::stream::unfold(
        (session, mailbox, from),
        move |(session, mailbox, from)| async move {
            let Some((number, message)) = mailbox.next(from).await else {
                session.streams.drop_if_long(stream);
                return None;
            };
            let id = EventId::Answer { stream, number };
            Some((
                Bytes::from(sse::encode_event_with_id(&message, &id.to_string())),
                (session, mailbox, number + 1),
            ))
        },
    ))
}

/// Returns a stream of announcements for a legacy session. It starts with the messages after number
/// `since` that the client may not have received, followed by unsent ones.
pub(super) fn announcement_stream(session: &Session, since: Option<u64>) -> HttpResponse {
    let subscriber = session.subscriber.clone();
    let reader = subscriber.new_reader();
    event_stream(futures::stream::unfold(
        (subscriber, reader, since),
        |(subscriber, reader, since)| async move {
            let again =
                since.and_then(|since| subscriber.mailbox.taken_since(since.saturating_add(1)));
            let since = again.as_ref().map(|(number, _)| *number);
            let (number, message) = match again {
                Some(again) => again,
                None => reader.next().await?,
            };
            let id = EventId::Announcement(number);
            Some((
                Bytes::from(sse::encode_event_with_id(&message, &id.to_string())),
                (subscriber, reader, since),
            ))
        },
    ))
}

/// Responds with a single message.
fn single_message(status: StatusCode, answer: OutgoingMessage) -> HttpResponse {
    let response = json_response(status, answer.message.to_bytes());
    match answer.reservation {
        Some(reservation) => reserve_until_sent(response, reservation),
        None => response,
    }
}

/// Responds with JSON text.
pub(super) fn json_response(status: StatusCode, text: impl Into<Body>) -> HttpResponse {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, text.into()).into_response()
}

/// Responds with figures or records that must not be cached.
pub(super) fn uncached_json(status: StatusCode, body: &Value) -> HttpResponse {
    let fresh = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (fresh, json_response(status, body.to_string())).into_response()
}

pub(super) fn reject_request(id: Option<RequestId>, era: Era, failure: &Failure) -> HttpResponse {
    let response = Response::from_error(id, reply::to_error_object(failure, era));
    json_response(
        reply::rejection_status(failure),
        Message::from(response).to_bytes(),
    )
}

pub(super) fn reject_caller(rejection: &Rejection) -> HttpResponse {
    let status = match rejection {
        Rejection::TooManyRequests => {
            return reject_request(None, Era::Legacy, &Failure::TooManyRequests);
        }
        Rejection::Foreign { .. } | Rejection::OperatorKey => {
            return (StatusCode::FORBIDDEN, format!("{rejection}\n")).into_response();
        }
        Rejection::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNAUTHORIZED,
    };
    let mut response = (status, format!("{rejection}\n")).into_response();
    response
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

pub(super) fn method_not_allowed() -> HttpResponse {
    (
        StatusCode::METHOD_NOT_ALLOWED,
        [(ALLOW, HeaderValue::from_static("POST"))],
    )
        .into_response()
}

pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_none_or(|value| value.contains("text/event-stream") || value.contains("*/*"))
}

fn event_stream(events: impl Stream<Item = Bytes> + Send + 'static) -> HttpResponse {
    let alive = futures::stream::unfold(Box::pin(events), |mut events| async move {
        let next = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, events.next()).await {
            Ok(Some(event)) => event,
            Ok(None) => return None,
            Err(_) => Bytes::from_static(sse::KEEP_ALIVE),
        };
        Some((Ok::<_, Infallible>(next), events))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (UNBUFFERED, HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(alive)).into_response()
}
