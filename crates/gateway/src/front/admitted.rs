//! MCP over HTTP for a caller that has been admitted: streamable HTTP for both eras.
//!
//! A POST is answered with plain JSON, unless something has to be said before the answer;
//! then it becomes a stream. For a modern client closing that stream cancels the request; a
//! legacy client may lose its connection and still wants the work done.

use std::sync::Arc;

use axum::extract::Request as HttpRequest;
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use kitbag_domain::{Caller, Origin};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Notification, RawObject, Request, RequestId, Response};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::body::read_body;
use super::response::{self, accepts_events, json, not_allowed, refuse_at_door};
use super::work::Work;
use super::{guard, headers, hello, mcp, modern};
use crate::call::failure::Failure;
use crate::call::reply;
use crate::catalog::Catalog;
use crate::front::session::Session;
use crate::front::session::registry::Opened;
use crate::front::session::streams::EventId;
use crate::state::gateway::Gateway;
use crate::turn::client::McpClient;
use crate::turn::trace::TraceContext;
use crate::turn::view::McpEndpoint;
use crate::turn::{BACKLOG, BackChannel, Turn};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// One HTTP request by a known caller at a known endpoint.
pub(super) struct AdmittedRequest {
    pub(super) gateway: Arc<Gateway>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) caller: Caller,
    pub(super) door: McpEndpoint,
    pub(super) origin: Origin,
}

impl AdmittedRequest {
    pub(super) async fn post(self, request: HttpRequest) -> HttpResponse {
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
                let failure = Failure::bad_params(format!("`params` cannot be read: {error}"));
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
            Ok(session) => {
                let trace = TraceContext::of_headers(http);
                self.legacy(session, trace, request, params).await
            }
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
        let (surfaces, name) = (&self.gateway.surfaces, client.name.as_deref());
        let view = self.door.view(surfaces, &self.caller, name);
        let cancelled = CancellationToken::new();
        let gone = cancelled.clone().drop_guard();
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let (flights, caller) = (self.gateway.services.flights.clone(), self.caller.clone());
        let back = BackChannel::new(outbox.clone(), flights, caller, None);
        let held = self.gateway.services.holders.hold(&self.caller, &cancelled);
        let turn = Turn {
            cancelled,
            origin: self.origin,
            ..Turn::new(self.gateway, self.catalog, client, view, back)
        }
        .traced(TraceContext::of_headers(http), &params);
        if let Err(failure) = headers::check(&turn, http, &request.method, &params) {
            return refuse_at_door(Some(request.id), Era::Modern, &failure);
        }
        let work = Work::new(async move {
            let _until_answered = held;
            let method = request.method.clone();
            let response = mcp::serve(&turn, None, request, params).await;
            let _ = outbox
                .send(reply::send_response(&turn, &method, response).await)
                .await;
        });
        response::to_modern(work, messages, gone).await
    }

    async fn legacy(
        self,
        session: Arc<Session>,
        trace: TraceContext,
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
        .traced(trace, &params);
        session.begin(&request.id, &turn.cancelled);
        let client = session.clone();
        let work = Work::new(async move {
            let (id, method) = (request.id.clone(), request.method.clone());
            let response = mcp::serve(&turn, Some(&session), request, params).await;
            session.end(&id);
            let _ = outbox
                .send(reply::send_response(&turn, &method, response).await)
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
                let answer = Message::from(Response::result(request.id, result));
                let mut response = json(StatusCode::OK, answer.to_bytes());
                let id = HeaderValue::try_from(session.id.as_str())
                    .expect("session ids are plain ASCII");
                response.headers_mut().insert(SESSION_ID, id);
                response
            }
            Err(failure) => {
                self.gateway.services.sessions.close(&session);
                let failure = failure.for_caller(session.caller());
                let answer = reply::failure_response(
                    Some(request.id),
                    method::INITIALIZE,
                    Era::Legacy,
                    &failure,
                );
                json(StatusCode::OK, Message::from(answer).to_bytes())
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
    pub(super) fn get(&self, http: &HeaderMap) -> HttpResponse {
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

    pub(super) async fn delete(&self, http: &HeaderMap) -> HttpResponse {
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
