//! Takes connections and lets each speak HTTP, with patience but not without end.

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

/// The time for which a connection may rest between requests. Clients keep their connections for
/// later, so this time must not be short; once a request has begun, a shorter clock runs.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The time for which requests may still run after the gateway was asked to end. Service managers
/// give a process at least ten seconds, and servers need some of them to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which the listener waits when the system has no more connections to give.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `ended`. From then on new connections are refused, and requests under way have
/// [`DRAIN_TIMEOUT`] to finish.
pub async fn serve(listener: TcpListener, host: Arc<GatewayHost>, ended: CancellationToken) {
    let router = router(host);
    let connections = GracefulShutdown::new();
    let open = Connections::with_file_limit(file_limit::open_file_limit());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => match open.admit_connection(peer.ip().to_canonical()) {
                    Some(admitted) => serve_connection(stream, peer, admitted, router.clone(), &connections),
                    None => tracing::debug!(%peer, "turned away: there are too many connections"),
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
    let stream = TimeoutStream::new(stream, admitted.clone(), ConnectionTimeouts::USUAL);
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
                tracing::debug!(%peer, %error, "a connection ended badly");
            },
            () = ended.cancelled() => tracing::debug!(%peer, "a connection went for a newer one"),
        }
    });
}

fn conflicting_hosts() -> HttpResponse {
    (
        StatusCode::BAD_REQUEST,
        "the target of the request and its Host header name different hosts\n",
    )
        .into_response()
}

/// An accept fails when the system is out of something; trying again at once would only
/// burn what is left.
async fn pause_accepting(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be taken");
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}
