//! The stdio endpoint: one client, one line per message, until the client closes its side. Clients
//! connected over the local socket are served here, too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_domain::{Caller, Origin, ShortText};
use kitbag_wire::lines::{Line, read_line};
use kitbag_wire::meta::method;
use kitbag_wire::{
    Era, MalformedMessage, Message, Notification, RawObject, Request, RequestId, Response,
};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{dispatch, handshake, modern};
use crate::call::failure::Failure;
use crate::call::reply;
use crate::catalog::Catalog;
use crate::front::in_flight::OutgoingMessage;
use crate::front::session::Session;
use crate::front::session::registry::OpenedSession;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;
use crate::state::random_ids::{random_request_id, random_token};
use crate::turn::client::McpClient;
use crate::turn::trace::TraceContext;
use crate::turn::view::McpEndpoint;
use crate::turn::{BACKLOG, BackChannel, Turn};
use kitbag_domain::sync::lock;

/// Serves until the client closes its side, which cancels open requests. If `ended` is cancelled
/// first, open requests are finished, and nothing more is read.
pub async fn serve(
    host: Arc<GatewayHost>,
    endpoint: McpEndpoint,
    input: &mut (impl AsyncBufRead + Unpin),
    output: impl AsyncWrite + Unpin + Send + 'static,
    ended: &CancellationToken,
) -> std::io::Result<()> {
    let (outbox, messages) = mpsc::channel(BACKLOG);
    let writer = tokio::spawn(write_lines(output, messages));
    let connection = Arc::new(StdioConnection::new(host, endpoint, outbox));
    let mut requests = JoinSet::new();
    connection.read_all(input, &mut requests, ended).await?;
    if !ended.is_cancelled() {
        connection.cancel_all();
    }
    while requests.join_next().await.is_some() {}
    connection.close().await;
    drop(connection);
    let _ = writer.await;
    Ok(())
}

struct StdioConnection {
    host: Arc<GatewayHost>,
    endpoint: McpEndpoint,
    outbox: mpsc::Sender<OutgoingMessage>,
    /// Distinguishes this client from others with the same name.
    id: String,
    /// The legacy session, once the client has sent `initialize`.
    session: Mutex<Option<Arc<Session>>>,
    running: Mutex<HashMap<RequestId, CancellationToken>>,
}

/// A parsed request: its parameters, and the client that sent it.
struct StdioRequest {
    params: RawObject,
    client: McpClient,
    /// The session of a legacy client.
    session: Option<Arc<Session>>,
}

impl StdioConnection {
    fn new(
        host: Arc<GatewayHost>,
        endpoint: McpEndpoint,
        outbox: mpsc::Sender<OutgoingMessage>,
    ) -> Self {
        Self {
            host,
            endpoint,
            outbox,
            id: random_token(),
            session: Mutex::default(),
            running: Mutex::default(),
        }
    }

    /// Reads messages until the client closes its side or `ended` is cancelled.
    async fn read_all(
        self: &Arc<Self>,
        input: &mut (impl AsyncBufRead + Unpin),
        requests: &mut JoinSet<()>,
        ended: &CancellationToken,
    ) -> std::io::Result<()> {
        let mut line = Vec::new();
        loop {
            let gateway = self.host.gateway();
            // No more requests are read from a client that does not read its answers.
            gateway
                .services
                .in_flight
                .wait_for_room(&Caller::local())
                .await;
            let max = gateway.serve.max_body_bytes;
            let read = tokio::select! {
                read = read_line(input, &mut line, max) => read?,
                () = ended.cancelled() => return Ok(()),
            };
            match read {
                Line::End => return Ok(()),
                Line::Whole if line.iter().all(u8::is_ascii_whitespace) => {}
                Line::Whole => self.handle_line(&line, requests).await,
                Line::Truncated => self.reject(&Failure::TooLarge { max }).await,
            }
        }
    }

    async fn handle_line(self: &Arc<Self>, line: &[u8], requests: &mut JoinSet<()>) {
        while requests.try_join_next().is_some() {}
        match Message::parse_shallow(line) {
            Ok(Message::Request(request)) => self.clone().handle_request(request, requests).await,
            Ok(Message::Notification(notification)) => self.handle_notification(&notification),
            Ok(Message::Response(response)) => self.handle_response(response),
            Err(malformed) => {
                self.send_to_client(malformed_response(malformed).into())
                    .await;
            }
        }
    }

    async fn reject(&self, failure: &Failure) {
        let response = Response::from_error(None, reply::to_error_object(failure, Era::Legacy));
        self.send_to_client(response.into()).await;
    }

    async fn handle_request(self: Arc<Self>, request: Request, requests: &mut JoinSet<()>) {
        let gateway = self.host.gateway();
        let catalog = gateway.catalog();
        if request.method == method::INITIALIZE
            && !request
                .open_params()
                .is_ok_and(|params| modern::is_modern(&params))
        {
            let response = self.open_session(&gateway, &catalog, request).await;
            return self.send_to_client(response.into()).await;
        }
        let cancelled = CancellationToken::new();
        let id = request.id.clone();
        lock(&self.running).insert(id.clone(), cancelled.clone());
        requests.spawn(async move {
            let answer = self
                .answer_request(gateway, catalog, request, cancelled.clone())
                .await;
            lock(&self.running).remove(&id);
            // A client that cancelled wants no answer.
            if !cancelled.is_cancelled() {
                let _ = self.outbox.send(answer).await;
            }
        });
    }

    async fn answer_request(
        &self,
        gateway: Arc<Gateway>,
        catalog: Arc<Catalog>,
        request: Request,
        cancelled: CancellationToken,
    ) -> OutgoingMessage {
        let method = request.method.clone();
        let StdioRequest {
            params,
            client,
            session,
        } = match self.read_request(&request) {
            Ok(read) => read,
            Err((era, failure)) => {
                let response = reply::failure_response(Some(request.id), &method, era, &failure);
                return Message::from(response).into();
            }
        };
        let turn = Turn {
            cancelled,
            origin: Origin {
                request: Some(ShortText::truncate(&random_request_id())),
                ..Origin::default()
            },
            ..self.new_turn(gateway, catalog, client, session.as_ref())
        }
        .with_trace(TraceContext::default(), &params);
        let response = dispatch::serve_request(&turn, session.as_deref(), request, params).await;
        reply::send_response(&turn, &method, response).await
    }

    /// Identifies the client of a request. An error comes with the era in whose format the client
    /// reads it.
    fn read_request(&self, request: &Request) -> Result<StdioRequest, (Era, Failure)> {
        let mut params = request.open_params().map_err(|error| {
            let failure = Failure::bad_params(format!("invalid `params`: {error}"));
            (Era::Legacy, failure)
        })?;
        let session = lock(&self.session).clone();
        let is_modern =
            modern::is_modern(&params) || (session.is_none() && request.method == method::DISCOVER);
        if is_modern {
            let client = modern::read_client(Caller::local(), &mut params)
                .map_err(|failure| (Era::Modern, failure))?;
            let id = self.id.as_str().into();
            return Ok(StdioRequest {
                params,
                client: McpClient { id, ..client },
                session: None,
            });
        }
        let Some(session) = session else {
            let reason = "send `initialize` first, or put the modern `_meta` keys on every request";
            let reason = reason.to_owned();
            return Err((Era::Legacy, Failure::NoSession { reason }));
        };
        Ok(StdioRequest {
            params,
            client: session.client(),
            session: Some(session),
        })
    }

    fn new_turn(
        &self,
        gateway: Arc<Gateway>,
        catalog: Arc<Catalog>,
        client: McpClient,
        session: Option<&Arc<Session>>,
    ) -> Turn {
        let (surfaces, name) = (&gateway.surfaces, client.name.as_deref());
        let view = match session {
            Some(session) => session.view.clone(),
            None => self.endpoint.resolve_view(surfaces, &client.caller, name),
        };
        let (in_flight, caller) = (gateway.services.in_flight.clone(), client.caller.clone());
        let back = BackChannel::new(self.outbox.clone(), in_flight, caller, session.cloned());
        Turn::new(gateway, catalog, client, view, back)
    }

    async fn open_session(
        &self,
        gateway: &Gateway,
        catalog: &Catalog,
        request: Request,
    ) -> Response {
        let params = request.open_params().unwrap_or_default();
        let opened = gateway.services.sessions.open(
            &gateway.surfaces,
            Caller::local(),
            self.endpoint.clone(),
            &params,
        );
        let OpenedSession { session, evicted } = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                return reply::failure_response(
                    Some(request.id),
                    method::INITIALIZE,
                    Era::Legacy,
                    &failure,
                );
            }
        };
        if let Some(gone) = evicted {
            gone.stop_watching().await;
        }
        match handshake::answer_initialize(gateway, catalog, &session).await {
            Ok(result) => {
                if let Some(former) = lock(&self.session).replace(session.clone()) {
                    gateway.services.sessions.close(&former);
                }
                tokio::spawn(forward_announcements(session, self.outbox.clone()));
                Response::from_result(request.id, result)
            }
            Err(failure) => {
                reply::failure_response(Some(request.id), method::INITIALIZE, Era::Legacy, &failure)
            }
        }
    }

    fn handle_notification(&self, notification: &Notification) {
        if notification.method == method::ROOTS_CHANGED
            && let Some(session) = lock(&self.session).as_ref()
        {
            return self
                .host
                .gateway()
                .upstreams
                .roots_changed(&session.client().identity());
        }
        if notification.method != method::CANCELLED {
            return;
        }
        let id = notification
            .open_params()
            .ok()
            .and_then(|params: RawObject| params.read("requestId"));
        if let Some(token) = id.and_then(|id: RequestId| lock(&self.running).remove(&id)) {
            token.cancel();
        }
    }

    fn cancel_all(&self) {
        for (_, token) in lock(&self.running).drain() {
            token.cancel();
        }
    }

    fn handle_response(&self, response: Response) {
        if let Some(session) = lock(&self.session).as_ref() {
            session.deliver_answer(response);
        }
    }

    async fn send_to_client(&self, message: Message) {
        let message = self
            .host
            .gateway()
            .services
            .in_flight
            .reserve_unconditionally(&Caller::local(), message);
        let _ = self.outbox.send(message).await;
    }

    async fn close(&self) {
        let session = lock(&self.session).take();
        if let Some(session) = session {
            let gateway = self.host.gateway();
            session.stop_watching().await;
            gateway.services.sessions.close(&session);
        }
    }
}

/// Forwards announcements until the session ends.
async fn forward_announcements(session: Arc<Session>, outbox: mpsc::Sender<OutgoingMessage>) {
    let reader = session.subscriber.new_reader();
    while let Some((_, message)) = reader.next().await {
        if outbox.send(message.into()).await.is_err() {
            return;
        }
    }
}

/// Writes each message as a line. Queued messages are written together, except that an answer is
/// never written together with earlier messages: some clients forget the call as soon as they see
/// the answer, and drop progress that they have read but not processed.
async fn write_lines(
    output: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<OutgoingMessage>,
) {
    let mut output = BufWriter::new(output);
    let mut last_message_at: Option<Instant> = None;
    while let Some(OutgoingMessage {
        message,
        reservation: _reservation,
    }) = messages.recv().await
    {
        let answers = matches!(message, Message::Response(_));
        if let Some(last_message_at) = last_message_at.take().filter(|_| answers) {
            if output.flush().await.is_err() {
                return;
            }
            tokio::time::sleep_until(last_message_at + PAUSE_BEFORE_ANSWER).await;
        }
        let mut line = message.to_line();
        line.push(b'\n');
        if output.write_all(&line).await.is_err() {
            return;
        }
        last_message_at = (!answers).then(Instant::now);
        if messages.is_empty() && output.flush().await.is_err() {
            return;
        }
    }
}

/// Enough for a client to process earlier messages before it reads the answer.
const PAUSE_BEFORE_ANSWER: Duration = Duration::from_millis(2);

fn malformed_response(malformed: MalformedMessage) -> Response {
    reply::failure_response(malformed.id().cloned(), "", Era::Legacy, &malformed.into())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    /// Records each write separately.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<String>>>);

    impl AsyncWrite for Written {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            lock(&self.0).push(String::from_utf8_lossy(bytes).into_owned());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn an_answer_is_never_written_together_with_the_progress_before_it() {
        let (outbox, messages) = mpsc::channel(BACKLOG);
        let progress = |step: u32| {
            Notification::new(method::PROGRESS, Some(raw(&json!({ "progress": step }))))
        };
        let messages_sent: [Message; 4] = [
            progress(1).into(),
            progress(2).into(),
            Response::from_result(RequestId::Number(1), raw(&json!({}))).into(),
            Response::from_result(RequestId::Number(2), raw(&json!({}))).into(),
        ];
        for message in messages_sent {
            outbox.try_send(OutgoingMessage::from(message)).unwrap();
        }
        drop(outbox);
        let written = Written::default();
        write_lines(written.clone(), messages).await;
        let pieces: Vec<_> = lock(&written.0)
            .iter()
            .map(|piece| piece.matches(method::PROGRESS).count())
            .collect();
        assert_eq!(pieces, [2, 0], "{:?}", lock(&written.0));
    }
}
