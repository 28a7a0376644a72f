//! Streamable HTTP at `/mcp`: the era of a request, and a check that it comes from this machine.

mod headers;
mod legacy;
mod local;
mod modern;
mod stream;

use std::collections::HashMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use futures::{Stream, StreamExt};
use kitbag_wire::{Era, Message, ProtocolVersion};
use tokio::net::TcpSocket;

use crate::catalog::ForeignCatalog;
use crate::cli::{Misbehaviour, Served};
use crate::dispatch;
use crate::server::TestServer;

pub(crate) use legacy::new_id;
pub(crate) use local::only_local;

pub(crate) async fn serve(server: Arc<TestServer>, port: u16) -> anyhow::Result<()> {
    listen(endpoint(server), port, "/mcp").await
}

/// Runs many servers in one process, each at `/NAME/mcp`.
pub(crate) async fn serve_catalog(
    era: Served,
    catalog: ForeignCatalog,
    port: u16,
) -> anyhow::Result<()> {
    let router = catalog
        .into_iter()
        .fold(Router::new(), |router, (name, tools)| {
            router.nest(
                &format!("/{name}"),
                endpoint(TestServer::listing(era, tools)),
            )
        });
    listen(router, port, "").await
}

fn endpoint(server: Arc<TestServer>) -> Router {
    let state = Arc::new(HttpState {
        server,
        sessions: Mutex::new(HashMap::new()),
    });
    Router::new()
        .route(
            "/mcp",
            post(receive)
                .get(legacy::open_stream)
                .delete(legacy::end_session),
        )
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(only_local))
        .with_state(state)
}

/// A gateway in front of hundreds of servers of this process connects to all of them at once. The
/// system retries a connection that does not fit into the backlog only after a second or more.
const WAITING: u32 = 4096;

/// Binds, writes the address to stdout, and serves.
pub(crate) async fn listen(router: Router, port: u16, path: &str) -> anyhow::Result<()> {
    let socket = TcpSocket::new_v4()?;
    // A restarted server takes over its port at once.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let listener = socket.listen(WAITING)?;
    writeln!(
        std::io::stdout(),
        "listening on http://{}{path}",
        listener.local_addr()?
    )?;
    // A small event must not wait until the previous one is acknowledged.
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

pub(crate) fn event_stream(events: impl Stream<Item = Vec<u8>> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (
        headers,
        [("x-accel-buffering", "no")],
        Body::from_stream(events.map(Ok::<_, std::io::Error>)),
    )
        .into_response()
}

pub(crate) fn json(status: StatusCode, message: impl Into<Message>) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        message.into().to_bytes(),
    )
        .into_response()
}

/// The state shared by all requests.
#[derive(Debug)]
struct HttpState {
    server: Arc<TestServer>,
    sessions: Mutex<HashMap<String, Arc<legacy::LegacySession>>>,
}

const VERSION_HEADER: &str = "mcp-protocol-version";

async fn receive(State(state): State<Arc<HttpState>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Some(refusal) = answer_while_waiting(&state.server) {
        return refusal;
    }
    if !accepts_both(&headers) {
        return (
            StatusCode::NOT_ACCEPTABLE,
            "accept application/json and text/event-stream",
        )
            .into_response();
    }
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(why) => return json(StatusCode::BAD_REQUEST, dispatch::malformed_response(&why)),
    };
    match era_of(state.server.era, &headers, &message) {
        Era::Legacy => legacy::receive(&state, &headers, message).await,
        Era::Modern => modern::receive(&state.server, &headers, message).await,
    }
}

/// Returns the answer to every request while the server asks to wait.
fn answer_while_waiting(server: &TestServer) -> Option<Response> {
    let wanted = server
        .read("hold-off")
        .filter(|_| server.has(Misbehaviour::HoldOff))?;
    let (status, wait) = wanted.trim().split_once(' ')?;
    let status = StatusCode::from_bytes(status.as_bytes()).ok()?;
    server.note("held off");
    let headers = [(header::RETRY_AFTER, wait.to_owned())];
    Some((status, headers, "the quota is used up").into_response())
}

fn era_of(served: Served, headers: &HeaderMap, message: &Message) -> Era {
    let says_modern = text(headers, VERSION_HEADER) == Some(ProtocolVersion::LATEST.as_str());
    match (served, message) {
        (Served::Dual, _) if says_modern => Era::Modern,
        (_, Message::Request(request)) => dispatch::era_of(served, request),
        (Served::Modern, _) => Era::Modern,
        (Served::Legacy | Served::Dual, _) => Era::Legacy,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn accepts_both(headers: &HeaderMap) -> bool {
    let accepted = text(headers, "accept").unwrap_or_default();
    accepted.contains("*/*")
        || ["application/json", "text/event-stream"]
            .iter()
            .all(|kind| accepted.contains(kind))
}
