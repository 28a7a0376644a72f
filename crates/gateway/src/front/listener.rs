//! Takes connections and lets each speak HTTP, with patience but not without end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::http::router;
use crate::house::House;

/// How long a client may take over its headers. Connections that clients keep for later
/// wait under the same clock, so it must not be short.
const HEADER_PATIENCE: Duration = Duration::from_secs(90);
/// How long requests may still run after the gateway was asked to end.
const LAST_CALLS: Duration = Duration::from_secs(3);
/// How long to wait when the system has no more connections to give.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// Serves until `ended`; requests under way are then given a moment to finish.
pub(crate) async fn serve(listener: TcpListener, house: Arc<House>, ended: CancellationToken) {
    let router = router(house);
    let connections = GracefulShutdown::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => converse(stream, peer, router.clone(), &connections),
                Err(error) => pause(&error).await,
            },
            () = ended.cancelled() => break,
        }
    }
    let _ = tokio::time::timeout(LAST_CALLS, connections.shutdown()).await;
}

fn converse(stream: TcpStream, peer: SocketAddr, router: Router, connections: &GracefulShutdown) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().call(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%peer, %error, "a connection ended badly");
        }
    });
}

/// An accept fails when the system is out of something; trying again at once would only
/// burn what is left.
async fn pause(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be taken");
    tokio::time::sleep(EXHAUSTED).await;
}
