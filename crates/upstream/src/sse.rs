//! The HTTP+SSE transport of 2024-11-05: one stream from the server, a POST for each message
//! to it. Many deployed servers speak nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use kitbag_wire::Message;
use sse_stream::{Sse, SseByteStream};
use url::Url;

use crate::body::limited;
use crate::error::{CallError, StartError};
use crate::handshake::start_error;
use crate::link::{Closed, Outlet, Pipe};
use crate::outgoing::{Outgoing, STUCK, Waiting};
use crate::remote::Remote;
use crate::router::Router;

const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the stream and waits for the address to post to.
pub(crate) async fn connect(remote: Remote, router: &Arc<Router>) -> Result<Pipe, StartError> {
    let server = &remote.server.clone();
    let unreachable = |reason: String| StartError::Unreachable {
        server: server.clone(),
        reason,
    };
    let mut request = reqwest::Request::new(Method::GET, remote.url.clone());
    request.headers_mut().clone_from(&remote.headers);
    request
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let response = remote
        .execute(request)
        .await
        .map_err(|error| start_error(server, error))?;
    let status = response.status();
    if status.as_u16() == 401 || status.as_u16() == 403 {
        return Err(StartError::Unauthorized {
            server: server.clone(),
            status: status.as_u16(),
        });
    }
    if !status.is_success() {
        return Err(unreachable(format!("HTTP {status}")));
    }
    let (bytes, since_event) = limited(response, remote.max_bytes);
    let mut events = SseByteStream::new(bytes);
    let post_to = tokio::time::timeout(ENDPOINT_TIMEOUT, endpoint(&remote.url, &mut events))
        .await
        .map_err(|_| unreachable("no `endpoint` event came".to_owned()))?
        .map_err(unreachable)?;

    let (outgoing, queue) = Outgoing::queue();
    let pipe = Pipe {
        outgoing: outgoing.clone(),
        closed: Closed::default(),
    };
    let outlet = Outlet::Pipe(outgoing.clone());
    let writer = tokio::spawn(write(remote, post_to, queue, router.clone()));
    let (router, server, closed) = (router.clone(), server.clone(), pipe.closed.clone());
    tokio::spawn(async move {
        let reading = async {
            while let Some(Ok(event)) = events.next().await {
                since_event.reset();
                if let Some(Ok(message)) = event.data.map(|data| Message::parse(data.as_bytes())) {
                    router.deliver(message, None, &outlet).await;
                    if outlet.room().await.is_err() {
                        return;
                    }
                }
            }
        };
        tokio::select! {
            () = reading => closed.close(if outgoing.is_stuck() { STUCK } else { "the event stream ended" }),
            () = outgoing.stuck() => closed.close(STUCK),
            () = closed.wait() => {}
        }
        writer.abort();
        router.fail_all(&CallError::lost(&server, closed.reason()));
    });
    Ok(pipe)
}

/// The first event names the address; it must be on the server we were told to use, or a
/// stranger could have our headers sent anywhere.
async fn endpoint(
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
            .map_err(|error| format!("the endpoint `{data}` is no address: {error}"))?;
        if url.origin() != base.origin() {
            return Err(format!(
                "the endpoint `{url}` is on another host than `{base}`"
            ));
        }
        return Ok(url);
    }
    Err("the event stream ended before it named an endpoint".to_owned())
}

async fn write(remote: Remote, post_to: Url, mut queue: Waiting, router: Arc<Router>) {
    loop {
        let line = queue.next().await;
        let mut request = reqwest::Request::new(Method::POST, post_to.clone());
        request.headers_mut().clone_from(&remote.headers);
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(line.clone().into());
        let problem = match remote.execute(request).await {
            Ok(response) if response.status().is_success() => continue,
            Ok(response) => remote.lost(format!("HTTP {}", response.status())),
            Err(error) => error,
        };
        if let Ok(Message::Request(request)) = Message::parse(&line)
            && let kitbag_wire::RequestId::Number(id) = request.id
        {
            router.fail(id, problem);
        }
    }
}
