//! MCP over streamable HTTP for an admitted caller, for both eras.
//!
//! A POST is answered with plain JSON, unless other messages precede the answer; then the response
//! becomes a stream. For a modern client closing that stream cancels the request; a legacy client
//! may lose its connection and still expect the work to finish.

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
use super::request_task::RequestTask;
use super::response::{self, accepts_events, json_response, method_not_allowed, reject_request};
use super::{browser_guard, dispatch, handshake, headers, modern};
use crate::call::failure::Failure;
use crate::call::reply;
use crate::catalog::Catalog;
use crate::front::session::Session;
use crate::front::session::registry::OpenedSession;
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
    pub(super) endpoint: McpEndpoint,
    pub(super) origin: Origin,
}

impl AdmittedRequest {
    pub(super) async fn handle_post(self, request: HttpRequest) -> HttpResponse {
        let (parts, body) = request.into_parts();
        if let Some(kind) = browser_guard::non_json_type(&parts.headers) {
            let failure = Failure::ForeignBody {
                kind: kind.to_owned(),
            };
            return reject_request(None, Era::Legacy, &failure);
        }
        let incoming = self.gateway.services.in_flight.track_upload(&self.caller);
        // Counts until there is an answer.
        let (body, _reservation) =
            match read_body(body, self.gateway.serve.max_body_bytes, incoming).await {
                Ok(read) => read,
                Err(failure) => return reject_request(None, Era::Legacy, &failure),
            };
        match Message::parse_shallow(&body) {
            Ok(Message::Request(request)) => self.handle_request(&parts.headers, request).await,
            Ok(Message::Notification(notification)) => {
                self.handle_notification(&parts.headers, &notification)
            }
            Ok(Message::Response(response)) => self.handle_response(&parts.headers, response),
            Err(malformed) => {
                reject_request(malformed.id().cloned(), Era::Legacy, &malformed.into())
            }
        }
    }

    async fn handle_request(self, http: &HeaderMap, request: Request) -> HttpResponse {
        let mut params = match request.open_params() {
            Ok(params) => params,
            Err(error) => {
                let failure = Failure::bad_params(format!("invalid `params`: {error}"));
                return reject_request(Some(request.id), Era::Legacy, &failure);
            }
        };
        if modern::is_modern(&params) || headers::is_modern(http) {
            let client = headers::check_version(http, &params)
                .and_then(|()| modern::read_client(self.caller.clone(), &mut params));
            return match client {
                Ok(client) => self.handle_modern(client, http, request, params).await,
                Err(failure) => reject_request(Some(request.id), Era::Modern, &failure),
            };
        }
        if request.method == method::INITIALIZE {
            return self.open_session(request, &params).await;
        }
        match self.find_session(http) {
            Ok(session) => {
                let trace = TraceContext::from_headers(http);
                self.handle_legacy(session, trace, request, params).await
            }
            Err(failure) => reject_request(Some(request.id), Era::Legacy, &failure),
        }
    }

    async fn handle_modern(
        self,
        client: McpClient,
        http: &HeaderMap,
        request: Request,
        params: RawObject,
    ) -> HttpResponse {
        let (surfaces, name) = (&self.gateway.surfaces, client.name.as_deref());
        let view = self.endpoint.resolve_view(surfaces, &self.caller, name);
        let cancelled = CancellationToken::new();
        let cancel_on_drop = cancelled.clone().drop_guard();
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let (in_flight, caller) = (self.gateway.services.in_flight.clone(), self.caller.clone());
        let back = BackChannel::new(outbox.clone(), in_flight, caller, None);
        let guard = self
            .gateway
            .services
            .key_requests
            .register(&self.caller, &cancelled);
        let turn = Turn {
            cancelled,
            origin: self.origin,
            ..Turn::new(self.gateway, self.catalog, client, view, back)
        }
        .with_trace(TraceContext::from_headers(http), &params);
        if let Err(failure) = headers::check_headers(&turn, http, &request.method, &params) {
            return reject_request(Some(request.id), Era::Modern, &failure);
        }
        let work = RequestTask::new(async move {
            let _until_answered = guard;
            let method = request.method.clone();
            let response = dispatch::serve_request(&turn, None, request, params).await;
            let _ = outbox
                .send(reply::send_response(&turn, &method, response).await)
                .await;
        });
        response::respond_modern(work, messages, cancel_on_drop).await
    }

    async fn handle_legacy(
        self,
        session: Arc<Session>,
        trace: TraceContext,
        request: Request,
        params: RawObject,
    ) -> HttpResponse {
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let (in_flight, caller) = (self.gateway.services.in_flight.clone(), self.caller.clone());
        let back = BackChannel::new(outbox.clone(), in_flight, caller, Some(session.clone()));
        let (client, view) = (session.client(), session.view.clone());
        let turn = Turn {
            origin: self.origin,
            ..Turn::new(self.gateway, self.catalog, client, view, back)
        }
        .with_trace(trace, &params);
        session.begin_request(&request.id, &turn.cancelled);
        let client = session.clone();
        let work = RequestTask::new(async move {
            let (id, method) = (request.id.clone(), request.method.clone());
            let response = dispatch::serve_request(&turn, Some(&session), request, params).await;
            session.end_request(&id);
            let _ = outbox
                .send(reply::send_response(&turn, &method, response).await)
                .await;
        });
        response::respond_legacy(work, client, messages).await
    }

    async fn open_session(self, request: Request, params: &RawObject) -> HttpResponse {
        let opened = self.gateway.services.sessions.open(
            &self.gateway.surfaces,
            self.caller,
            self.endpoint,
            params,
        );
        let OpenedSession { session, evicted } = match opened {
            Ok(opened) => opened,
            Err(failure) => return reject_request(Some(request.id), Era::Legacy, &failure),
        };
        if let Some(gone) = evicted {
            gone.stop_watching().await;
        }
        match handshake::answer_initialize(&self.gateway, &self.catalog, &session).await {
            Ok(result) => {
                let answer = Message::from(Response::from_result(request.id, result));
                let mut response = json_response(StatusCode::OK, answer.to_bytes());
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
                json_response(StatusCode::OK, Message::from(answer).to_bytes())
            }
        }
    }

    fn handle_notification(&self, http: &HeaderMap, notification: &Notification) -> HttpResponse {
        // A modern client has no session and no notifications for the gateway; an error would not
        // help the client.
        if headers::is_modern(http) {
            return StatusCode::ACCEPTED.into_response();
        }
        let session = match self.find_session(http) {
            Ok(session) => session,
            Err(failure) => return reject_request(None, Era::Legacy, &failure),
        };
        if notification.method == method::CANCELLED
            && let Some(id) = notification
                .open_params()
                .ok()
                .and_then(|params| params.read::<RequestId>("requestId"))
        {
            session.cancel_request(&id);
        }
        if notification.method == method::ROOTS_CHANGED {
            self.gateway
                .upstreams
                .roots_changed(&session.client().identity());
        }
        StatusCode::ACCEPTED.into_response()
    }

    fn handle_response(&self, http: &HeaderMap, response: Response) -> HttpResponse {
        match self.find_session(http) {
            Ok(session) => {
                session.deliver_answer(response);
                StatusCode::ACCEPTED.into_response()
            }
            Err(failure) => reject_request(None, Era::Legacy, &failure),
        }
    }

    /// Returns the stream of announcements for a legacy session, or the rest of a broken stream.
    pub(super) fn handle_get(&self, http: &HeaderMap) -> HttpResponse {
        if headers::is_modern(http) {
            return method_not_allowed();
        }
        if !accepts_events(http) {
            return (
                StatusCode::NOT_ACCEPTABLE,
                "send `Accept: text/event-stream` to open this stream\n",
            )
                .into_response();
        }
        let session = match self.find_session(http) {
            Ok(session) => session,
            Err(Failure::NoSession { .. }) => return method_not_allowed(),
            Err(failure) => return reject_request(None, Era::Legacy, &failure),
        };
        let last = http
            .get(LAST_EVENT_ID)
            .and_then(|value| value.to_str().ok())
            .and_then(EventId::parse);
        match last {
            None => response::announcement_stream(&session, None),
            Some(EventId::Announcement(number)) => {
                response::announcement_stream(&session, Some(number))
            }
            Some(EventId::Answer { stream, number }) => match session.streams.find_stream(stream) {
                Some(mailbox) => {
                    response::resume_stream(session, mailbox, stream, number.saturating_add(1))
                }
                None => reject_request(None, Era::Legacy, &Failure::UnknownStream),
            },
        }
    }

    pub(super) async fn handle_delete(&self, http: &HeaderMap) -> HttpResponse {
        match self.find_session(http) {
            Ok(session) => {
                session.stop_watching().await;
                self.gateway.services.sessions.close(&session);
                StatusCode::NO_CONTENT.into_response()
            }
            Err(Failure::NoSession { .. }) => method_not_allowed(),
            Err(failure) => reject_request(None, Era::Legacy, &failure),
        }
    }

    fn find_session(&self, http: &HeaderMap) -> Result<Arc<Session>, Failure> {
        let Some(id) = http.get(SESSION_ID) else {
            let reason = "the Mcp-Session-Id header is missing: send `initialize` first, or, with the modern protocol, \
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
            .find_session(id, &self.caller, &self.endpoint)
            .ok_or(Failure::UnknownSession)
    }
}
