//! Accepts connections and serves HTTP on each, with timeouts.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::browser_guard;
use super::chunked_body::ChunkedBody;
use super::connections::{ConnectionGuard, Connections};
use super::http::router;
use super::timeout_stream::{ConnectionTimeouts, TimeoutStream};
use crate::state::file_limit;
use crate::state::host::GatewayHost;

/// How long a connection may be idle between requests. Clients keep connections for reuse, so this
/// must not be short; once a request has begun, a shorter timeout applies.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How long requests may continue after the gateway was asked to stop. Service managers give a
/// process at least ten seconds, and servers need some of them to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the listener waits when the system is out of resources for connections.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `ended`. From then on new connections are refused, and requests in progress have
/// [`DRAIN_TIMEOUT`] to finish.
pub async fn serve(
    listener: TcpListener,
    host: Arc<GatewayHost>,
    pages: Router,
    ended: CancellationToken,
) {
    let router = router(host, pages);
    let connections = GracefulShutdown::new();
    let open = Connections::with_file_limit(file_limit::open_file_limit());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match open.admit_connection(peer.ip().to_canonical()) {
                    Some(admitted) => serve_connection(stream, peer, admitted, router.clone(), &connections),
                    None => tracing::debug!(%peer, "rejected: too many connections"),
                },
                Err(error) => pause_accepting(&error).await,
            },
            () = ended.cancelled() => break,
        }
    }
    // New clients would wait in the queue of an open listener until this process ends.
    drop(listener);
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, connections.shutdown()).await;
}

fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    admitted: Arc<ConnectionGuard>,
    router: Router,
    connections: &GracefulShutdown,
) {
    let _ = stream.set_nodelay(true);
    let ended = admitted.ended.clone();
    let stream = TimeoutStream::new(stream, admitted.clone(), ConnectionTimeouts::DEFAULT);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let serving = admitted.begin_request();
        request.extensions_mut().insert(ConnectInfo(peer));
        let one_host = browser_guard::has_one_host(request.uri(), request.headers());
        let answering = one_host.then(|| router.clone().call(request.map(Body::new)));
        async move {
            let answer = match answering {
                Some(answering) => answering.await?,
                None => conflicting_hosts(),
            };
            Ok::<_, Infallible>(ChunkedBody::wrap(answer, serving))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%peer, %error, "a connection failed");
            },
            () = ended.cancelled() => tracing::debug!(%peer, "closed a connection in favour of a newer one"),
        }
    });
}

fn conflicting_hosts() -> HttpResponse {
    (
        StatusCode::BAD_REQUEST,
        "the request target and the Host header name different hosts\n",
    )
        .into_response()
}

/// Accepting fails when the system is out of a resource; retrying at once would waste the remaining
/// resources.
async fn pause_accepting(error: &io::Error) {
    tracing::warn!(%error, "failed to accept a connection");
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}
