//! Streamable HTTP, as its client: one POST per message, the answer as JSON or as a stream.
//!
//! Legacy servers add sessions, a GET stream for what concerns no request, and streams that
//! may be picked up again after they broke; modern servers have none of that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Method, StatusCode};
use kitbag_wire::mirror::header;
use kitbag_wire::{Message, Response};
use reqwest::Client;
use sse_stream::SseByteStream;
use tokio::task::{AbortHandle, JoinHandle};

use crate::body::{collect, limited};
use crate::error::CallError;
use crate::link::{BY_US, Closed, Outlet, Packet};
use crate::outgoing::{Backlog, STUCK, weight};
use crate::remote::Remote;
use crate::router::Router;
use kitbag_domain::sync::lock;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How often a broken stream of a legacy server is picked up before the request is lost.
const RESUME_ATTEMPTS: u32 = 5;
const RESUME_DELAY: Duration = Duration::from_millis(500);
/// How often the standing GET stream is opened anew after it broke.
const LISTEN_ATTEMPTS: u32 = 10;
/// How long a server may take to say that it got a message which needs no answer.
const ACKNOWLEDGE_PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct HttpLink {
    remote: Remote,
    router: Arc<Router>,
    session: OnceLock<Session>,
    running: Mutex<HashMap<i64, AbortHandle>>,
    /// Our answers to requests of the server that it has yet to take.
    pub(crate) replies: Backlog,
    pub(crate) closed: Closed,
    me: std::sync::Weak<Self>,
}

/// What a legacy server's answer to `initialize` settled.
struct Session {
    id: Option<HeaderValue>,
    version: HeaderValue,
}

impl HttpLink {
    pub(crate) fn new(remote: Remote, router: Arc<Router>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            remote,
            router,
            session: OnceLock::new(),
            running: Mutex::default(),
            replies: Backlog::default(),
            closed: Closed::default(),
            me: me.clone(),
        })
    }

    /// Posts a request; whatever comes back is delivered through the router.
    pub(crate) fn request(&self, packet: Packet) {
        let Some(link) = self.me.upgrade() else {
            return;
        };
        let id = packet.id;
        // Boxed, because spawning moves a future several times, and this one is large.
        let task = tokio::spawn(Box::pin(async move {
            if let Err(error) = link.exchange(packet).await {
                link.router.fail(id, error);
            }
            link.running().remove(&id);
        }));
        self.running().insert(id, task.abort_handle());
        // The task may have ended before it was entered into the table.
        if task.is_finished() {
            self.running().remove(&id);
        }
    }

    /// Stops reading the answer. To a modern server, closing the stream is the cancellation.
    pub(crate) fn abandon(&self, id: i64) {
        if let Some(task) = self.running().remove(&id) {
            task.abort();
        }
    }

    pub(crate) fn tell(&self, message: Message) {
        let Some(link) = self.me.upgrade() else {
            return;
        };
        tokio::spawn(async move { link.mention(&message).await });
    }

    /// Sends our answer to a request of the server.
    pub(crate) fn reply(&self, response: Response) -> Option<JoinHandle<()>> {
        let link = self.me.upgrade()?;
        let message = Message::from(response);
        let weight = weight(message.to_bytes().len());
        link.replies.add(weight);
        Some(tokio::spawn(async move {
            link.mention(&message).await;
            link.replies.remove(weight);
        }))
    }

    /// Posts what nobody waits for an answer to.
    async fn mention(&self, message: &Message) {
        let server = &self.remote.server;
        match tokio::time::timeout(ACKNOWLEDGE_PATIENCE, self.post(message, Vec::new())).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%server, %error, "a message got no acknowledgement"),
            Err(_) => tracing::debug!(%server, "a message was not acknowledged in time"),
        }
    }

    /// Remembers what a legacy handshake settled, and opens the stream for announcements.
    pub(crate) fn begin_session(&self, id: Option<HeaderValue>, version: &str) {
        let version =
            HeaderValue::try_from(version).unwrap_or(HeaderValue::from_static("2025-03-26"));
        if self.session.set(Session { id, version }).is_err() {
            return;
        }
        let Some(link) = self.me.upgrade() else {
            return;
        };
        let closed = self.closed.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = link.listen() => {}
                () = closed.wait() => {}
            }
        });
    }

    /// Posts `initialize` and hands back the session id the answer came with.
    pub(crate) async fn initialize(
        &self,
        packet: Packet,
    ) -> Result<(Response, Option<HeaderValue>), CallError> {
        let id = packet.id;
        let response = self.post(&packet.request.into(), packet.headers).await?;
        let session = response.headers().get(SESSION_ID).cloned();
        let mut stream = self.messages(response).await?;
        while let Some(message) = stream.next().await {
            if let Message::Response(response) =
                message.map_err(|reason| self.remote.lost(reason))?
            {
                return Ok((response, session));
            }
        }
        self.router.forget(id);
        Err(self
            .remote
            .lost("the answer to `initialize` ended early".to_owned()))
    }

    pub(crate) async fn close(&self) {
        self.closed.close(BY_US);
        let session = self.session.get().and_then(|session| session.id.clone());
        if let Some(id) = session {
            let mut request = reqwest::Request::new(Method::DELETE, self.remote.url.clone());
            request.headers_mut().clone_from(&self.remote.headers);
            request.headers_mut().insert(SESSION_ID, id);
            let _ =
                tokio::time::timeout(Duration::from_secs(2), self.remote.mention(request)).await;
        }
    }

    async fn exchange(&self, packet: Packet) -> Result<(), CallError> {
        let id = packet.id;
        let response = self.post(&packet.request.into(), packet.headers).await?;
        if is_event_stream(&response) {
            return self.follow(id, response).await;
        }
        let body = collect(response, self.remote.max_bytes)
            .await
            .map_err(|reason| self.remote.lost(reason))?;
        let message = Message::parse(&body).map_err(|error| self.remote.lost(error.to_string()))?;
        self.router.deliver(message, Some(id), &self.outlet()).await;
        if self.router.is_pending(id) {
            return Err(self
                .remote
                .lost("the answer does not belong to the request".to_owned()));
        }
        Ok(())
    }

    /// Reads the stream of one request to its end, picking it up again where a legacy
    /// server allows that.
    async fn follow(&self, id: i64, response: reqwest::Response) -> Result<(), CallError> {
        let mut cursor = Cursor::default();
        let mut ended = self.read_events(Some(id), response, &mut cursor).await;
        for _ in 0..RESUME_ATTEMPTS {
            let Some(last) = cursor.resumable(self.session.get().is_some()) else {
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
        Err(self.remote.lost(reason))
    }

    /// The standing stream of a legacy session, for what concerns no request.
    async fn listen(&self) {
        let mut cursor = Cursor::default();
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
        cursor: &mut Cursor,
    ) -> Result<(), String> {
        let (bytes, since_event) = limited(response, self.remote.max_bytes);
        let mut events = SseByteStream::new(bytes);
        let outlet = self.outlet();
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
                    outlet.room().await.map_err(|_| STUCK.to_owned())?;
                }
                Err(error) => {
                    tracing::debug!(server = %self.remote.server, %error, "skipped an event");
                }
            }
        }
        Ok(())
    }

    async fn messages(
        &self,
        response: reqwest::Response,
    ) -> Result<futures::stream::BoxStream<'static, Result<Message, String>>, CallError> {
        if is_event_stream(&response) {
            let (bytes, since_event) = limited(response, self.remote.max_bytes);
            return Ok(SseByteStream::new(bytes)
                .filter_map(move |event| {
                    since_event.reset();
                    std::future::ready(match event {
                        Ok(event) => event
                            .data
                            .and_then(|data| Message::parse(data.as_bytes()).ok())
                            .map(Ok),
                        Err(error) => Some(Err(error.to_string())),
                    })
                })
                .boxed());
        }
        let body = collect(response, self.remote.max_bytes)
            .await
            .map_err(|reason| self.remote.lost(reason))?;
        let message = Message::parse(&body).map_err(|error| error.to_string());
        Ok(futures::stream::iter([message]).boxed())
    }

    async fn post(
        &self,
        message: &Message,
        headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Result<reqwest::Response, CallError> {
        let mut request = self.prepare(Method::POST, BOTH);
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        request.headers_mut().extend(headers);
        *request.body_mut() = Some(message.to_bytes().into());
        let response = self.remote.execute(request).await?;
        self.accept(response).await
    }

    async fn get(&self, last_event_id: Option<&str>) -> Result<reqwest::Response, CallError> {
        let mut request = self.prepare(Method::GET, EVENTS);
        if let Some(last) = last_event_id.and_then(|last| HeaderValue::try_from(last).ok()) {
            request.headers_mut().insert(LAST_EVENT_ID, last);
        }
        let response = self.remote.execute(request).await?;
        let response = self.accept(response).await?;
        if is_event_stream(&response) {
            Ok(response)
        } else {
            Err(self.remote.lost("no event stream".to_owned()))
        }
    }

    /// A request with the headers of the configuration, and of the session once there is one.
    fn prepare(&self, method: Method, accept: HeaderValue) -> reqwest::Request {
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

    /// Sorts out everything that is not a success, using the server's own words if it has any.
    async fn accept(&self, response: reqwest::Response) -> Result<reqwest::Response, CallError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let server = self.remote.server.clone();
        let body = collect(response, self.remote.max_bytes.min(64 * 1024))
            .await
            .unwrap_or_default();
        if self.session_is_over(status, &body) {
            self.closed.close("the server ended our session");
            return Err(CallError::SessionExpired { server });
        }
        match Message::parse(&body) {
            Ok(Message::Response(Response {
                outcome: Err(error),
                ..
            })) if !is_auth(status) => Err(CallError::Refused { server, error }),
            _ => {
                let body = String::from_utf8_lossy(&body).into_owned();
                Err(CallError::Http {
                    server,
                    status: status.as_u16(),
                    body,
                })
            }
        }
    }

    /// The specification says 404; servers built on the TypeScript examples say 400 and why.
    fn session_is_over(&self, status: StatusCode, body: &[u8]) -> bool {
        let in_session = self
            .session
            .get()
            .is_some_and(|session| session.id.is_some());
        let says_so = || {
            String::from_utf8_lossy(body)
                .to_lowercase()
                .contains("session")
        };
        in_session
            && (status == StatusCode::NOT_FOUND || (status == StatusCode::BAD_REQUEST && says_so()))
    }

    fn outlet(&self) -> Outlet {
        Outlet::Http(self.me.clone())
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<i64, AbortHandle>> {
        lock(&self.running)
    }
}

/// Where we are in a stream that may be picked up again.
#[derive(Default)]
struct Cursor {
    last: Option<String>,
    retry: Option<Duration>,
}

impl Cursor {
    fn advance(&mut self, id: Option<String>, retry: Option<u64>) {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.last = Some(id);
        }
        if let Some(retry) = retry {
            self.retry = Some(Duration::from_millis(retry.min(30_000)));
        }
    }

    fn resumable(&self, legacy: bool) -> Option<String> {
        self.last.clone().filter(|_| legacy)
    }

    fn delay(&self) -> Duration {
        self.retry.unwrap_or(RESUME_DELAY)
    }
}

fn is_event_stream(response: &reqwest::Response) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("text/event-stream"))
}

fn is_auth(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN
}

/// The one HTTP client: no redirects, because a redirected POST would hand our headers to
/// an address nobody configured.
pub(crate) fn client() -> Client {
    kitbag_fetch::client_without_redirects()
        .pool_idle_timeout(Duration::from_secs(60))
        .tcp_nodelay(true)
        .build()
        .expect("the client is built from constants")
}
