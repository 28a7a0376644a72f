//! The HTTP+SSE transport of 2024-11-05: one stream from the server, and a POST for each message to
//! it. Many deployed servers support nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use kitbag_wire::{Message, RequestId};
use reqwest::Response;
use sse_stream::{Sse, SseByteStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::body::{BytesSinceEvent, limit_stream};
use crate::error::{CallError, StartError};
use crate::handshake::start_error;
use crate::link::{PipeLink, ReplySender};
use crate::remote::RemoteServer;
use crate::router::Router;
use crate::send_queue::{QueuedMessages, STUCK};

/// The server sends its endpoint in the first event, at once.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the stream and waits for the URL to post to.
pub(crate) async fn connect(
    remote: RemoteServer,
    router: &Arc<Router>,
) -> Result<PipeLink, StartError> {
    let response = open_stream(&remote).await?;
    let (bytes, since_event) = limit_stream(response, remote.max_bytes);
    let mut events = SseByteStream::new(bytes);
    let post_to = tokio::time::timeout(ENDPOINT_TIMEOUT, read_endpoint(&remote.url, &mut events))
        .await
        .unwrap_or_else(|_| Err("no `endpoint` event arrived".to_owned()))
        .map_err(|reason| unreachable_error(&remote, reason))?;
    let (pipe, queue) = PipeLink::new();
    let writer = tokio::spawn(post_queued(remote, post_to, queue, router.clone()));
    let reader = EventReader {
        events,
        since_event,
        pipe: pipe.clone(),
        router: router.clone(),
    };
    tokio::spawn(reader.run_until_closed(writer));
    Ok(pipe)
}

async fn open_stream(remote: &RemoteServer) -> Result<Response, StartError> {
    let mut request = reqwest::Request::new(Method::GET, remote.url.clone());
    request.headers_mut().clone_from(&remote.headers);
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let response = remote
        .send_with_login(request)
        .await
        .map_err(|error| start_error(&remote.server, error))?;
    match response.status().as_u16() {
        status @ (401 | 403) => Err(StartError::Unauthorized {
            server: remote.server.clone(),
            status,
        }),
        200..=299 => Ok(response),
        _ => Err(unreachable_error(
            remote,
            format!("HTTP {}", response.status()),
        )),
    }
}

fn unreachable_error(remote: &RemoteServer, reason: String) -> StartError {
    StartError::Unreachable {
        server: remote.server.clone(),
        reason,
    }
}

struct EventReader<S> {
    events: S,
    since_event: BytesSinceEvent,
    pipe: PipeLink,
    router: Arc<Router>,
}

impl<S: Stream<Item = Result<Sse, sse_stream::Error>> + Unpin> EventReader<S> {
    /// Reads until the stream ends, the server is stuck, or the gateway closes the pipe.
    async fn run_until_closed(mut self, writer: JoinHandle<()>) {
        let PipeLink { queue, closed } = self.pipe.clone();
        tokio::select! {
            () = self.read_events() => closed.close(if queue.is_stuck() { STUCK } else { "the event stream ended" }),
            () = queue.wait_until_stuck() => closed.close(STUCK),
            () = closed.wait() => {}
        }
        writer.abort();
        let error = CallError::for_lost_connection(self.router.server(), closed.reason());
        self.router.fail_all(&error);
    }

    async fn read_events(&mut self) {
        let outlet = ReplySender::Pipe(self.pipe.queue.clone());
        while let Some(Ok(event)) = self.events.next().await {
            self.since_event.reset();
            if let Some(Ok(message)) = event.data.map(|data| Message::parse(data.as_bytes())) {
                self.router.deliver(message, None, &outlet).await;
                if outlet.wait_for_room().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Returns the URL in the first event. It must be on the configured server, or the server could
/// redirect the configured headers anywhere.
async fn read_endpoint(
    base: &Url,
    events: &mut (impl Stream<Item = Result<Sse, sse_stream::Error>> + Unpin),
) -> Result<Url, String> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| error.to_string())?;
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let data = event.data.unwrap_or_default();
        let url = base
            .join(data.trim())
            .map_err(|error| format!("the endpoint `{data}` is not a valid URL: {error}"))?;
        if url.origin() != base.origin() {
            return Err(format!(
                "the endpoint `{url}` is on another host than `{base}`"
            ));
        }
        return Ok(url);
    }
    Err("the event stream ended before it named an endpoint".to_owned())
}

async fn post_queued(
    remote: RemoteServer,
    post_to: Url,
    mut queue: QueuedMessages,
    router: Arc<Router>,
) {
    loop {
        let line = queue.next().await;
        let error = match remote
            .send_with_login(post_request(&remote, &post_to, &line))
            .await
        {
            Ok(response) if response.status().is_success() => continue,
            Ok(response) => remote.lost_error(format!("HTTP {}", response.status())),
            Err(error) => error,
        };
        if let Some(id) = request_id(&line) {
            router.fail_request(id, error);
        }
    }
}

fn post_request(remote: &RemoteServer, to: &Url, line: &[u8]) -> reqwest::Request {
    let mut request = reqwest::Request::new(Method::POST, to.clone());
    let headers = request.headers_mut();
    headers.clone_from(&remote.headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *request.body_mut() = Some(line.to_vec().into());
    request
}

fn request_id(line: &[u8]) -> Option<i64> {
    match Message::parse(line).ok()? {
        Message::Request(request) => match request.id {
            RequestId::Number(id) => Some(id),
            RequestId::Text(_) => None,
        },
        _ => None,
    }
}
