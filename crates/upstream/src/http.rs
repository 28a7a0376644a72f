//! The client side of streamable HTTP: one POST per message, the answer as JSON or as a stream.
//!
//! Legacy servers add sessions, a GET stream for messages without a request, and resumable streams;
//! modern servers have none of that.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Method, StatusCode};
use kitbag_wire::mirror::header;
use kitbag_wire::{Message, Response};
use reqwest::Client;
use sse_stream::{Sse, SseByteStream};
use tokio::task::{AbortHandle, JoinHandle};

use crate::body::{limit_stream, read_body_within};
use crate::error::CallError;
use crate::link::{CloseSignal, OutgoingRequest, ReplySender, STOPPED_BY_US};
use crate::remote::{MAX_ERROR_BODY, RemoteServer};
use crate::router::Router;
use crate::send_queue::{ReplyBacklog, STUCK, memory_size};
use kitbag_domain::sync::lock;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Resume a broken legacy stream at most this many times before failing the request.
const RESUME_ATTEMPTS: u32 = 5;
/// The delay before resuming a stream, unless the server sets one.
const RESUME_DELAY: Duration = Duration::from_millis(500);
/// Open the standing GET stream at most this many times; a server that keeps ending it has none.
const LISTEN_ATTEMPTS: u32 = 10;
/// A server only has to acknowledge the message, so one that takes longer is stuck.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(30);

/// A longer delay requested by a server would make a call look dead.
const MAX_RETRY_MILLIS: u64 = 30_000;
/// How long a stopping gateway waits for a server to accept the end of the session.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection idle for longer has often been closed by the other side.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct HttpLink {
    remote: RemoteServer,
    router: Arc<Router>,
    session: OnceLock<HttpSession>,
    running: Mutex<HashMap<i64, AbortHandle>>,
    /// Answers to requests of the server that it has not received yet.
    pub(crate) replies: ReplyBacklog,
    pub(crate) closed: CloseSignal,
    me: std::sync::Weak<Self>,
}

/// The session that a legacy server started with its answer to `initialize`.
struct HttpSession {
    id: Option<HeaderValue>,
    version: HeaderValue,
}

impl HttpLink {
    pub(crate) fn new(remote: RemoteServer, router: Arc<Router>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            remote,
            router,
            session: OnceLock::new(),
            running: Mutex::default(),
            replies: ReplyBacklog::default(),
            closed: CloseSignal::default(),
            me: me.clone(),
        })
    }

    /// Posts a request; all messages that come back are delivered through the router.
    pub(crate) fn send_request(&self, packet: OutgoingRequest) {
        let Some(link) = self.me.upgrade() else {
            return;
        };
        let id = packet.id;
        // The lock is held over both, or a task that ends at once would leave its entry behind.
        let mut running = lock(&self.running);
        // Boxed, because spawning moves a future several times, and this one is large.
        let task = tokio::spawn(Box::pin(async move {
            if let Err(error) = link.exchange(packet).await {
                link.router.fail_request(id, error);
            }
            lock(&link.running).remove(&id);
        }));
        running.insert(id, task.abort_handle());
    }

    /// Stops reading the answer. To a modern server, closing the stream is the cancellation.
    pub(crate) fn abandon(&self, id: i64) {
        if let Some(task) = lock(&self.running).remove(&id) {
            task.abort();
        }
    }

    pub(crate) fn notify(&self, message: Message) {
        let Some(link) = self.me.upgrade() else {
            return;
        };
        tokio::spawn(async move { link.post_and_log(&message).await });
    }

    /// Sends the answer to a request of the server.
    pub(crate) fn reply(&self, response: Response) -> Option<JoinHandle<()>> {
        let link = self.me.upgrade()?;
        let message = Message::from(response);
        let weight = memory_size(message.to_bytes().len());
        link.replies.add(weight);
        Some(tokio::spawn(async move {
            link.post_and_log(&message).await;
            link.replies.remove(weight);
        }))
    }

    /// Posts a message that needs no answer.
    async fn post_and_log(&self, message: &Message) {
        let server = &self.remote.server;
        match tokio::time::timeout(ACKNOWLEDGE_TIMEOUT, self.post(message, Vec::new())).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%server, %error, "a message was not acknowledged"),
            Err(_) => tracing::debug!(%server, "a message was not acknowledged in time"),
        }
    }

    /// Stores the session of a legacy handshake, and opens the stream for announcements.
    pub(crate) fn begin_session(&self, id: Option<HeaderValue>, version: &str) {
        // The first version with sessions, for a server that returns an impossible one.
        let version =
            HeaderValue::try_from(version).unwrap_or(HeaderValue::from_static("2025-03-26"));
        let began = self.session.set(HttpSession { id, version });
        if let Some(link) = self.me.upgrade()
            && began.is_ok()
        {
            tokio::spawn(async move {
                tokio::select! {
                    () = link.read_standing_stream() => {}
                    () = link.closed.wait() => {}
                }
            });
        }
    }

    /// Posts `initialize` and returns the answer with its session id.
    pub(crate) async fn initialize(
        &self,
        packet: OutgoingRequest,
    ) -> Result<(Response, Option<HeaderValue>), CallError> {
        let id = packet.id;
        let response = self.post(&packet.request.into(), packet.headers).await?;
        let session = response.headers().get(SESSION_ID).cloned();
        let mut messages = self.read_messages(response).await?;
        while let Some(message) = messages.next().await {
            let message = message.map_err(|reason| self.remote.lost_error(reason))?;
            if let Message::Response(response) = message {
                return Ok((response, session));
            }
        }
        self.router.forget(id);
        Err(self
            .remote
            .lost_error("the answer to `initialize` ended early"))
    }

    pub(crate) async fn close(&self) {
        self.closed.close(STOPPED_BY_US);
        let session = self.session.get();
        if let Some(id) = session.and_then(|session| session.id.clone()) {
            let mut request = reqwest::Request::new(Method::DELETE, self.remote.url.clone());
            request.headers_mut().clone_from(&self.remote.headers);
            request.headers_mut().insert(SESSION_ID, id);
            let goodbye = self.remote.send_and_ignore(request);
            let _ = tokio::time::timeout(GOODBYE_TIMEOUT, goodbye).await;
        }
    }

    async fn exchange(&self, packet: OutgoingRequest) -> Result<(), CallError> {
        let id = packet.id;
        let response = self.post(&packet.request.into(), packet.headers).await?;
        match is_event_stream(&response) {
            true => self.follow_stream(id, response).await,
            false => self.deliver_answer(id, response).await,
        }
    }

    async fn deliver_answer(&self, id: i64, response: reqwest::Response) -> Result<(), CallError> {
        let message = self.read_message(response).await?;
        let message = message.map_err(|reason| self.remote.lost_error(reason))?;
        self.router
            .deliver(message, Some(id), &self.reply_sender())
            .await;
        match self.router.is_pending(id) {
            true => Err(self
                .remote
                .lost_error("the answer does not belong to the request")),
            false => Ok(()),
        }
    }

    /// Reads a body that is one message. The inner error is a parse error.
    async fn read_message(
        &self,
        response: reqwest::Response,
    ) -> Result<Result<Message, String>, CallError> {
        let body = read_body_within(response, self.remote.max_bytes).await;
        let body = body.map_err(|reason| self.remote.lost_error(reason))?;
        Ok(Message::parse(&body).map_err(|error| error.to_string()))
    }

    /// Reads the stream of one request to its end, and resumes it if a legacy server allows that.
    async fn follow_stream(&self, id: i64, response: reqwest::Response) -> Result<(), CallError> {
        let mut cursor = StreamCursor::default();
        let mut ended = self.read_events(Some(id), response, &mut cursor).await;
        for _ in 0..RESUME_ATTEMPTS {
            let Some(last) = cursor.resume_id(self.session.get().is_some()) else {
                break;
            };
            if !self.router.is_pending(id) {
                return Ok(());
            }
            tokio::time::sleep(cursor.delay()).await;
            let Ok(response) = self.get(Some(&last)).await else {
                break;
            };
            ended = self.read_events(Some(id), response, &mut cursor).await;
        }
        let reason = ended
            .err()
            .unwrap_or_else(|| "the stream ended without an answer".to_owned());
        Err(self.remote.lost_error(reason))
    }

    /// Reads the standing stream of a legacy session, for messages without a request.
    async fn read_standing_stream(&self) {
        let mut cursor = StreamCursor::default();
        for _ in 0..LISTEN_ATTEMPTS {
            let Ok(response) = self.get(cursor.last.as_deref()).await else {
                return;
            };
            let _ = self.read_events(None, response, &mut cursor).await;
            tokio::time::sleep(cursor.delay()).await;
        }
    }

    async fn read_events(
        &self,
        id: Option<i64>,
        response: reqwest::Response,
        cursor: &mut StreamCursor,
    ) -> Result<(), String> {
        let (bytes, since_event) = limit_stream(response, self.remote.max_bytes);
        let mut events = SseByteStream::new(bytes);
        let outlet = self.reply_sender();
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| error.to_string())?;
            since_event.reset();
            cursor.advance(event.id, event.retry);
            let data = event.data.unwrap_or_default();
            if data.trim().is_empty() {
                continue;
            }
            match Message::parse(data.as_bytes()) {
                Ok(message) => {
                    self.router.deliver(message, id, &outlet).await;
                    outlet.wait_for_room().await.map_err(|_| STUCK.to_owned())?;
                }
                Err(error) => {
                    tracing::debug!(server = %self.remote.server, %error, "skipped an event");
                }
            }
        }
        Ok(())
    }

    async fn read_messages(
        &self,
        response: reqwest::Response,
    ) -> Result<BoxStream<'static, Result<Message, String>>, CallError> {
        if !is_event_stream(&response) {
            let message = self.read_message(response).await?;
            return Ok(futures::stream::iter([message]).boxed());
        }
        let (bytes, since_event) = limit_stream(response, self.remote.max_bytes);
        let messages = SseByteStream::new(bytes).filter_map(move |event| {
            since_event.reset();
            std::future::ready(parse_event(event))
        });
        Ok(messages.boxed())
    }

    async fn post(
        &self,
        message: &Message,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Result<reqwest::Response, CallError> {
        let mut request = self.new_request(Method::POST, BOTH);
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        request.headers_mut().extend(headers);
        *request.body_mut() = Some(message.to_bytes().into());
        let response = self.remote.send_with_login(request).await?;
        self.check_status(response).await
    }

    async fn get(&self, last_event_id: Option<&str>) -> Result<reqwest::Response, CallError> {
        let mut request = self.new_request(Method::GET, EVENTS);
        if let Some(last) = last_event_id.and_then(|last| HeaderValue::try_from(last).ok()) {
            request.headers_mut().insert(LAST_EVENT_ID, last);
        }
        let response = self.remote.send_with_login(request).await?;
        let response = self.check_status(response).await?;
        match is_event_stream(&response) {
            true => Ok(response),
            false => Err(self.remote.lost_error("no event stream")),
        }
    }

    /// Returns a request with the configured headers, and the session's once there is one.
    fn new_request(&self, method: Method, accept: HeaderValue) -> reqwest::Request {
        let mut request = reqwest::Request::new(method, self.remote.url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&self.remote.headers);
        headers.insert(ACCEPT, accept);
        if let Some(session) = self.session.get() {
            headers.insert(PROTOCOL_VERSION, session.version.clone());
            headers.extend(session.id.clone().map(|id| (SESSION_ID, id)));
        }
        request
    }

    /// Turns an unsuccessful answer into an error, with the server's own message if there is one.
    async fn check_status(
        &self,
        response: reqwest::Response,
    ) -> Result<reqwest::Response, CallError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let limit = self.remote.max_bytes.min(MAX_ERROR_BODY);
        let body = read_body_within(response, limit).await.unwrap_or_default();
        let server = self.remote.server.clone();
        if self.is_session_over(status, &body) {
            self.closed.close("the server ended the session");
            return Err(CallError::SessionExpired { server });
        }
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        Err(match Message::parse(&body) {
            Ok(Message::Response(Response {
                outcome: Err(error),
                ..
            })) if !is_auth => CallError::Refused { server, error },
            _ => CallError::Http {
                server,
                status: status.as_u16(),
                body: String::from_utf8_lossy(&body).into_owned(),
            },
        })
    }

    /// True if the status says that the session has ended. The specification says 404; servers
    /// built on the TypeScript examples send 400 and mention the session.
    fn is_session_over(&self, status: StatusCode, body: &[u8]) -> bool {
        let session = self.session.get();
        if session.is_none_or(|session| session.id.is_none()) {
            return false;
        }
        match status {
            StatusCode::NOT_FOUND => true,
            StatusCode::BAD_REQUEST => {
                let body = String::from_utf8_lossy(body).to_lowercase();
                body.contains("session")
            }
            _ => false,
        }
    }

    fn reply_sender(&self) -> ReplySender {
        ReplySender::Http(self.me.clone())
    }
}

/// The position in a resumable stream.
#[derive(Default)]
struct StreamCursor {
    last: Option<String>,
    retry: Option<Duration>,
}

impl StreamCursor {
    fn advance(&mut self, id: Option<String>, retry: Option<u64>) {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.last = Some(id);
        }
        if let Some(retry) = retry {
            self.retry = Some(Duration::from_millis(retry.min(MAX_RETRY_MILLIS)));
        }
    }

    fn resume_id(&self, legacy: bool) -> Option<String> {
        self.last.clone().filter(|_| legacy)
    }

    fn delay(&self) -> Duration {
        self.retry.unwrap_or(RESUME_DELAY)
    }
}

fn parse_event(event: Result<Sse, sse_stream::Error>) -> Option<Result<Message, String>> {
    match event {
        Ok(event) => Message::parse(event.data?.as_bytes()).ok().map(Ok),
        Err(error) => Some(Err(error.to_string())),
    }
}

fn is_event_stream(response: &reqwest::Response) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/event-stream"))
}

/// Returns the HTTP client for servers, which follows no redirects. All servers share it: a request
/// has its own headers, and creating a client reads every certificate that the system trusts.
pub(crate) fn http_client() -> Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| {
        kitbag_fetch::client_without_redirects()
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .expect("the client is built from constants")
    });
    CLIENT.clone()
}
