//! Forwards every request unread: the least that anything between a client and a server can cost,
//! built with the same libraries as the gateway.
//!
//! `kitbag-bench-bare 127.0.0.1:PORT` listens on its own port and prints its address.

use std::convert::Infallible;

use anyhow::Context;
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Either;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "the benchmark reads from stdout where it listens"
)]
async fn main() -> anyhow::Result<()> {
    let upstream = std::env::args()
        .nth(1)
        .context("missing argument: the address to forward requests to")?;
    let upstream: Authority = upstream.parse().context("invalid address")?;
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.clone());
        let service = service_fn(move |request| pass_on(client.clone(), upstream.clone(), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn pass_on(
    client: Client<HttpConnector, Incoming>,
    upstream: Authority,
    mut request: Request<Incoming>,
) -> Result<Response<Either<Incoming, Empty<Bytes>>>, Infallible> {
    let mut uri = std::mem::take(request.uri_mut()).into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(upstream);
    *request.uri_mut() =
        Uri::from_parts(uri).expect("a scheme, an authority and a path make a URI");
    Ok(match client.request(request).await {
        Ok(response) => response.map(Either::Left),
        Err(_) => {
            let mut refused = Response::new(Either::Right(Empty::new()));
            *refused.status_mut() = StatusCode::BAD_GATEWAY;
            refused
        }
    })
}
