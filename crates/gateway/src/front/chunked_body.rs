//! A response body sent in pieces: each piece is polled after the previous one is sent, so that the
//! reservations of a response last exactly until the client has received it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::response::Response as HttpResponse;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::connections::RequestGuard;
use crate::front::in_flight::Reservation;

/// About as much as a connection writes at once.
const PIECE: usize = 64 * 1024;

pub(super) struct ChunkedBody {
    body: Body,
    /// The remainder of a frame that was too long for one piece.
    rest: Bytes,
    _serving: RequestGuard,
    _reservations: Reservations,
}

/// The reservations that count for the caller until the response is sent.
#[derive(Clone, Default)]
struct Reservations(Vec<Arc<Reservation>>);

/// Keeps `reservation` reserved for the caller until the response is sent.
pub(super) fn reserve_until_sent(
    mut answer: HttpResponse,
    reservation: Reservation,
) -> HttpResponse {
    answer
        .extensions_mut()
        .get_or_insert_default::<Reservations>()
        .0
        .push(Arc::new(reservation));
    answer
}

impl ChunkedBody {
    pub(super) fn wrap(mut answer: HttpResponse, serving: RequestGuard) -> http::Response<Self> {
        let reservations = answer.extensions_mut().remove().unwrap_or_default();
        answer.map(|body| Self {
            body,
            rest: Bytes::new(),
            _serving: serving,
            _reservations: reservations,
        })
    }

    fn next_piece(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(PIECE);
        Frame::data(self.rest.split_to(length))
    }
}

impl HttpBody for ChunkedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.next_piece())));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                Poll::Ready(Some(Ok(self.next_piece())))
            }
            Err(other) => Poll::Ready(Some(Ok(other))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, mut hint) = (self.rest.len() as u64, self.body.size_hint());
        match hint.exact() {
            Some(exact) => SizeHint::with_exact(exact + rest),
            None => {
                hint.set_lower(hint.lower() + rest);
                hint
            }
        }
    }
}
