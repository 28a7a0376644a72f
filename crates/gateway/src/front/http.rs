//! The HTTP endpoint: streamable HTTP for both eras on one address.
//!
//! A POST is answered with plain JSON, unless something has to be said before the answer;
//! then it becomes a stream. For a modern client closing that stream cancels the request; a
//! legacy client may lose its connection and still wants the work done.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRef, Path, Request as HttpRequest, State};
use axum::middleware;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::{any, get, post};
use futures::StreamExt;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use kitbag_domain::{Caller, Origin};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Notification, RawObject, Request, RequestId, Response};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::response::{self, accepts_events, json, not_admitted, not_allowed, refuse_at_door};
use super::work::Work;
use super::{
    access, audit, auth, guard, headers, hello, mcp, metrics, modern, ready, retrieve, tokens,
};
use crate::catalog::Catalog;
use crate::client::McpClient;
use crate::failure::Failure;
use crate::flights::HeldLoad;
use crate::gateway::Gateway;
use crate::host::GatewayHost;
use crate::reply;
use crate::session::Session;
use crate::session::registry::Opened;
use crate::session::streams::EventId;
use crate::turn::{BACKLOG, BackChannel, Turn};
use crate::view::McpEndpoint;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The time that a client may take to send the body it has announced.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// A body may have this many times the allowed size before its connection is cut.
const EXCESS_HEARD_OUT: usize = 8;

pub(super) fn router(host: Arc<GatewayHost>) -> Router {
    Router::new()
        .route("/mcp", any(main))
        .route("/mcp/{surface}", any(surface))
        .route("/servers/{name}/mcp", any(one))
        .route("/v1/retrieve", post(retrieve::answer))
        .route("/v1/tokens", get(tokens::tokens))
        .route("/v1/audit", get(audit::answer))
        .route("/metrics", get(metrics::metrics))
        .route("/health", get(health))
        .route("/ready", get(ready::ready))
        .route("/openapi.json", get(openapi))
        .fallback(nowhere)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(
            HttpState(host.clone()),
            access::layer,
        ))
        .with_state(HttpState(host))
}

/// Every request is handed the [`Gateway`] that is in use when the request comes in.
#[derive(Clone)]
struct HttpState(Arc<GatewayHost>);

impl FromRef<HttpState> for Arc<Gateway> {
    fn from_ref(HttpState(host): &HttpState) -> Self {
        host.gateway()
    }
}

async fn main(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    enter(gateway, peer, request, McpEndpoint::Main).await
}

async fn surface(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(surface) => enter(gateway, peer, request, McpEndpoint::Surface(surface)).await,
        Err(_) => nowhere().await,
    }
}

async fn one(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(server) => enter(gateway, peer, request, McpEndpoint::Server(server)).await,
        Err(_) => refuse_at_door(None, Era::Legacy, &Failure::UnknownServer { server: name }),
    }
}

/// Answers the program that keeps this process alive. The answer tells nothing, so no caller needs
/// a key for it.
async fn health() -> &'static str {
    "ok\n"
}

/// Returns the description of everything there is beside MCP, for programs that write clients.
async fn openapi() -> HttpResponse {
    const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");
    (
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        DESCRIPTION,
    )
        .into_response()
}

async fn nowhere() -> HttpResponse {
    let text = "Nothing here. MCP is at /mcp, /mcp/{search,adaptive,code,all} and /servers/{name}/mcp; \
                tools for an intent are at /v1/retrieve, \
                figures at /v1/tokens and /metrics, what happened at /v1/audit, and how it does at /health \
                and /ready.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn enter(
    gateway: Arc<Gateway>,
    peer: SocketAddr,
    request: HttpRequest,
    door: McpEndpoint,
) -> HttpResponse {
    let caller = match auth::admit(&gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let catalog = gateway.catalog();
    if let McpEndpoint::Server(server) = &door
        && (gateway.upstreams.get(server).is_none()
            || !gateway.server_visible(&catalog, &caller, server))
    {
        let failure = Failure::UnknownServer {
            server: server.to_string(),
        };
        return refuse_at_door(None, Era::Legacy, &failure);
    }
    let origin = access::origin(peer, request.headers());
    let visit = AdmittedRequest {
        gateway,
        catalog,
        caller,
        door,
        origin,
    };
    match *request.method() {
        Method::POST => visit.post(request).await,
        Method::GET => visit.get(request.headers()),
        Method::DELETE => visit.delete(request.headers()).await,
        _ => not_allowed(),
    }
}

/// One HTTP request by a known caller at a known endpoint.
struct AdmittedRequest {
    gateway: Arc<Gateway>,
    catalog: Arc<Catalog>,
    caller: Caller,
    door: McpEndpoint,
    origin: Origin,
}

impl AdmittedRequest {
    async fn post(self, request: HttpRequest) -> HttpResponse {
        let (parts, body) = request.into_parts();
        if let Some(kind) = guard::foreign_body(&parts.headers) {
            let failure = Failure::ForeignBody {
                kind: kind.to_owned(),
            };
            return refuse_at_door(None, Era::Legacy, &failure);
        }
        let incoming = self.gateway.services.flights.receive(&self.caller);
        // It counts until there is an answer.
        let (body, _held) = match read_body(body, self.gateway.serve.max_body_bytes, incoming).await
        {
            Ok(read) => read,
            Err(failure) => return refuse_at_door(None, Era::Legacy, &failure),
        };
        match Message::parse_shallow(&body) {
            Ok(Message::Request(request)) => self.request(&parts.headers, request).await,
            Ok(Message::Notification(notification)) => {
                self.notification(&parts.headers, &notification)
            }
            Ok(Message::Response(response)) => self.response(&parts.headers, response),
            Err(malformed) => {
                refuse_at_door(malformed.id().cloned(), Era::Legacy, &malformed.into())
            }
        }
    }

    async fn request(self, http: &HeaderMap, request: Request) -> HttpResponse {
        let mut params = match request.object() {
            Ok(params) => params,
            Err(error) => {
                let failure = Failure::params(format!("`params` cannot be read: {error}"));
                return refuse_at_door(Some(request.id), Era::Legacy, &failure);
            }
        };
        if modern::is_modern(&params) || headers::is_modern(http) {
            let client = headers::check_version(http, &params)
                .and_then(|()| modern::read_client(self.caller.clone(), &mut params));
            return match client {
                Ok(client) => self.modern(client, http, request, params).await,
                Err(failure) => refuse_at_door(Some(request.id), Era::Modern, &failure),
            };
        }
        if request.method == method::INITIALIZE {
            return self.initialize(request, &params).await;
        }
        match self.session(http) {
            Ok(session) => self.legacy(session, request, params).await,
            Err(failure) => refuse_at_door(Some(request.id), Era::Legacy, &failure),
        }
    }

    async fn modern(
        self,
        client: McpClient,
        http: &HeaderMap,
        request: Request,
        params: RawObject,
    ) -> HttpResponse {
        let surfaces = &self.gateway.surfaces;
        let view = self
            .door
            .view(surfaces, &self.caller, client.name.as_deref());
        let cancelled = CancellationToken::new();
        let gone = cancelled.clone().drop_guard();
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let back = BackChannel::new(
            outbox.clone(),
            self.gateway.services.flights.clone(),
            self.caller.clone(),
            None,
        );
        let held = self.gateway.services.holders.hold(&self.caller, &cancelled);
        let turn = Turn {
            cancelled,
            origin: self.origin,
            ..Turn::new(self.gateway, self.catalog, client, view, back)
        }
        .traced(&params);
        if let Err(failure) = headers::check(&turn, http, &request.method, &params) {
            return refuse_at_door(Some(request.id), Era::Modern, &failure);
        }
        let work = Work::new(async move {
            let _until_answered = held;
            let method = request.method.clone();
            let response = mcp::serve(&turn, None, request, params).await;
            let _ = outbox
                .send(reply::sent(&turn, &method, response).await)
                .await;
        });
        response::to_modern(work, messages, gone).await
    }

    async fn legacy(
        self,
        session: Arc<Session>,
        request: Request,
        params: RawObject,
    ) -> HttpResponse {
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let (flights, caller) = (self.gateway.services.flights.clone(), self.caller.clone());
        let back = BackChannel::new(outbox.clone(), flights, caller, Some(session.clone()));
        let (client, view) = (session.client(), session.view.clone());
        let turn = Turn {
            origin: self.origin,
            ..Turn::new(self.gateway, self.catalog, client, view, back)
        }
        .traced(&params);
        session.begin(&request.id, &turn.cancelled);
        let client = session.clone();
        let work = Work::new(async move {
            let (id, method) = (request.id.clone(), request.method.clone());
            let response = mcp::serve(&turn, Some(&session), request, params).await;
            session.end(&id);
            let _ = outbox
                .send(reply::sent(&turn, &method, response).await)
                .await;
        });
        response::to_legacy(work, client, messages).await
    }

    async fn initialize(self, request: Request, params: &RawObject) -> HttpResponse {
        let opened = self.gateway.services.sessions.open(
            &self.gateway.surfaces,
            self.caller,
            self.door,
            params,
        );
        let Opened { session, gave_way } = match opened {
            Ok(opened) => opened,
            Err(failure) => return refuse_at_door(Some(request.id), Era::Legacy, &failure),
        };
        if let Some(gone) = gave_way {
            gone.stop_watching().await;
        }
        match hello::initialize(&self.gateway, &self.catalog, &session).await {
            Ok(result) => {
                let mut response =
                    json(StatusCode::OK, &Response::result(request.id, result).into());
                let id = HeaderValue::try_from(session.id.as_str())
                    .expect("session ids are plain ASCII");
                response.headers_mut().insert(SESSION_ID, id);
                response
            }
            Err(failure) => {
                self.gateway.services.sessions.close(&session);
                let failure = failure.for_caller(session.caller());
                let response =
                    reply::response(Some(request.id), method::INITIALIZE, Era::Legacy, &failure);
                json(StatusCode::OK, &response.into())
            }
        }
    }

    fn notification(&self, http: &HeaderMap, notification: &Notification) -> HttpResponse {
        // A modern client has no session and nothing to notify the gateway of; an error that says
        // so would not help the client.
        if headers::is_modern(http) {
            return StatusCode::ACCEPTED.into_response();
        }
        let session = match self.session(http) {
            Ok(session) => session,
            Err(failure) => return refuse_at_door(None, Era::Legacy, &failure),
        };
        if notification.method == method::CANCELLED
            && let Some(id) = notification
                .object()
                .ok()
                .and_then(|params| params.read::<RequestId>("requestId"))
        {
            session.cancel(&id);
        }
        if notification.method == method::ROOTS_CHANGED {
            self.gateway
                .upstreams
                .roots_changed(&session.client().identity());
        }
        StatusCode::ACCEPTED.into_response()
    }

    fn response(&self, http: &HeaderMap, response: Response) -> HttpResponse {
        match self.session(http) {
            Ok(session) => {
                session.answered(response);
                StatusCode::ACCEPTED.into_response()
            }
            Err(failure) => refuse_at_door(None, Era::Legacy, &failure),
        }
    }

    /// The stream on which a legacy session hears of changes, or the rest of one that broke.
    fn get(&self, http: &HeaderMap) -> HttpResponse {
        if headers::is_modern(http) {
            return not_allowed();
        }
        if !accepts_events(http) {
            return (
                StatusCode::NOT_ACCEPTABLE,
                "this stream is text/event-stream\n",
            )
                .into_response();
        }
        let session = match self.session(http) {
            Ok(session) => session,
            Err(Failure::NoSession { .. }) => return not_allowed(),
            Err(failure) => return refuse_at_door(None, Era::Legacy, &failure),
        };
        let last = http
            .get(LAST_EVENT_ID)
            .and_then(|value| value.to_str().ok())
            .and_then(EventId::parse);
        match last {
            None => response::announcements(&session, None),
            Some(EventId::Announcement(number)) => response::announcements(&session, Some(number)),
            Some(EventId::Answer { stream, number }) => match session.streams.find(stream) {
                Some(mailbox) => {
                    response::rest_of(session, mailbox, stream, number.saturating_add(1))
                }
                None => refuse_at_door(None, Era::Legacy, &Failure::UnknownStream),
            },
        }
    }

    async fn delete(&self, http: &HeaderMap) -> HttpResponse {
        match self.session(http) {
            Ok(session) => {
                session.stop_watching().await;
                self.gateway.services.sessions.close(&session);
                StatusCode::NO_CONTENT.into_response()
            }
            Err(Failure::NoSession { .. }) => not_allowed(),
            Err(failure) => refuse_at_door(None, Era::Legacy, &failure),
        }
    }

    fn session(&self, http: &HeaderMap) -> Result<Arc<Session>, Failure> {
        let Some(id) = http.get(SESSION_ID) else {
            let reason = "the Mcp-Session-Id header is missing: send `initialize` first, or, in the modern manner, \
                          the `_meta` keys with every request";
            return Err(Failure::NoSession {
                reason: reason.to_owned(),
            });
        };
        headers::check_legacy_version(http)?;
        let id = id.to_str().map_err(|_| Failure::UnknownSession)?;
        self.gateway
            .services
            .sessions
            .find(id, &self.caller, &self.door)
            .ok_or(Failure::UnknownSession)
    }
}

/// A client that is still sending does not hear a refusal, so what is too much is still read,
/// and dropped, as long as that is not far too much.
pub(super) async fn read_body(
    body: Body,
    max: usize,
    mut held: Option<HeldLoad>,
) -> Result<(Vec<u8>, Option<HeldLoad>), Failure> {
    let reading = async {
        let (mut bytes, mut excess) = (Vec::new(), 0);
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Failure::BrokenBody {
                reason: error.to_string(),
            })?;
            if excess == 0 && bytes.len() + chunk.len() <= max {
                if held.as_mut().is_some_and(|held| !held.grow(chunk.len())) {
                    return Err(Failure::TooManyRequests);
                }
                bytes.extend_from_slice(&chunk);
                continue;
            }
            excess += chunk.len();
            if excess / EXCESS_HEARD_OUT > max {
                break;
            }
        }
        if excess == 0 {
            Ok((bytes, held))
        } else {
            Err(Failure::TooLarge { max })
        }
    };
    tokio::time::timeout(BODY_PATIENCE, reading)
        .await
        .unwrap_or(Err(Failure::SlowBody))
}
