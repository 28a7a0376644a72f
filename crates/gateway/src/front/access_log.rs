//! The access log: one line per HTTP request, if enabled. Also assigns the request id that appears
//! in that line, in the audit and in the response.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use hyper::body::{Frame, SizeHint};
use kitbag_domain::{Caller, Origin, ShortText};

use super::chunked_body::reserve_until_sent;
use crate::front::in_flight::Reservation;
use crate::state::gateway::Gateway;
use crate::state::random_ids::random_request_id;
use kitbag_domain::sync::lock;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header for the gateway's request id on a vendor's response, whose own headers stay
/// unchanged.
const OWN_REQUEST_ID: HeaderName = HeaderName::from_static("x-kitbag-request-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

tokio::task_local! {
    /// The request that this task answers.
    static CURRENT_REQUEST: Arc<LoggedRequest>;
}

/// Marks a response from a model vendor.
#[derive(Debug, Clone, Copy)]
pub(super) struct VendorAnswer;

/// The data of a request that is known before the response, and the caller once identified.
struct LoggedRequest {
    id: ShortText,
    method: Method,
    /// The path without the query, which may contain anything.
    path: ShortText,
    peer: SocketAddr,
    started: Instant,
    caller: OnceLock<Caller>,
    /// Counts the request among its caller's open requests.
    open: Mutex<Option<Reservation>>,
}

/// The outermost middleware of every response.
pub(super) async fn log_request(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let logged = Arc::new(LoggedRequest {
        id: ShortText::truncate(&random_request_id()),
        method: request.method().clone(),
        path: ShortText::truncate(request.uri().path()),
        peer,
        started: Instant::now(),
        caller: OnceLock::new(),
        open: Mutex::default(),
    });
    let mut response = CURRENT_REQUEST
        .scope(logged.clone(), next.run(request))
        .await;
    if let Some(open) = lock(&logged.open).take() {
        response = reserve_until_sent(response, open);
    }
    if let Ok(id) = HeaderValue::from_str(logged.id.as_str()) {
        let name = match response.extensions().get() {
            Some(VendorAnswer) => OWN_REQUEST_ID,
            None => REQUEST_ID,
        };
        response.headers_mut().insert(name, id);
    }
    if !gateway.serve.access_log {
        return response;
    }
    let (head, body) = response.into_parts();
    let line = AccessLine {
        request: logged,
        status: head.status,
        bytes: 0,
    };
    Response::from_parts(head, Body::new(CountedBody { body, line }))
}

/// Sets the caller of the current request, which counts as open until its response is sent.
pub(super) fn set_caller(caller: &Caller, open: Reservation) {
    let _outside_of_a_request = CURRENT_REQUEST.try_with(|request| {
        let _admitted_before = request.caller.set(caller.clone());
        *lock(&request.open) = Some(open);
    });
}

/// Returns the origin of the current request.
pub(super) fn request_origin(peer: SocketAddr, headers: &HeaderMap) -> Origin {
    let trace = headers
        .get(TRACE_PARENT)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let request = CURRENT_REQUEST.try_with(|request| request.id.clone()).ok();
    Origin {
        request,
        run: None,
        address: Some(peer.ip().to_canonical()),
        trace,
    }
}

/// A response body that counts its bytes. The log line is written when it is dropped: at its end,
/// or when the client disconnects.
struct CountedBody {
    body: Body,
    line: AccessLine,
}

struct AccessLine {
    request: Arc<LoggedRequest>,
    status: StatusCode,
    bytes: usize,
}

impl hyper::body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.line.bytes += frame.data_ref().map_or(0, Bytes::len);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let LoggedRequest {
            id,
            method,
            path,
            peer,
            started,
            caller,
            open: _,
        } = &*self.request;
        let tenant = caller.get().map_or("-", |caller| caller.tenant.as_str());
        let key = caller
            .get()
            .and_then(|caller| caller.key.as_ref())
            .map_or("-", |key| key.0.as_str());
        tracing::info!(
            target: "kitbag::access",
            request = id.as_str(),
            %method,
            path = path.as_str(),
            status = self.status.as_u16(),
            bytes = self.bytes,
            ms = started.elapsed().as_millis() as u64,
            tenant,
            key,
            address = %peer.ip().to_canonical(),
            "answered"
        );
    }
}
