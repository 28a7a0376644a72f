//! A legacy client's session: its `initialize` parameters, open questions, running requests and
//! pending announcements.

pub(crate) mod key_requests;
pub(crate) mod mailbox;
pub(crate) mod registry;
pub(crate) mod streams;
pub(crate) mod subscriber;
pub(crate) mod watched_resources;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_config::Surfaces;
use kitbag_domain::{Caller, ShortText};
use kitbag_upstream::{LogLevel, RequestedLogs};
use kitbag_wire::{
    Era, ErrorObject, ProtocolVersion, Raw, RawObject, Request, RequestId, Response,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::streams::Streams;
use self::subscriber::{Subscriber, SubscriptionFilter};
use self::watched_resources::WatchedResources;
use crate::turn::client::{ClientCapabilities, McpClient};
use crate::turn::view::McpEndpoint;
use crate::turn::view::View;
use kitbag_domain::sync::lock;

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) endpoint: McpEndpoint,
    pub(crate) view: View,
    pub(crate) version: ProtocolVersion,
    pub(crate) subscriber: Arc<Subscriber>,
    pub(crate) streams: Streams,
    pub(crate) watched: WatchedResources,
    caller: Caller,
    name: Option<ShortText>,
    capabilities: ClientCapabilities,
    log_level: Mutex<Option<LogLevel>>,
    next_question: AtomicI64,
    questions: Mutex<HashMap<RequestId, oneshot::Sender<Result<Raw, ErrorObject>>>>,
    running: Mutex<HashMap<RequestId, CancellationToken>>,
    last_seen: Mutex<Instant>,
}

impl Session {
    /// Opens a session from the params of `initialize`.
    pub(crate) fn open(
        id: String,
        surfaces: &Surfaces,
        caller: Caller,
        endpoint: McpEndpoint,
        params: &RawObject,
    ) -> Arc<Self> {
        let proposed: String = params.read("protocolVersion").unwrap_or_default();
        let name = McpClient::read_name(params.get_object("clientInfo").as_ref());
        let view = endpoint.resolve_view(surfaces, &caller, name.as_deref());
        Arc::new(Self {
            subscriber: Arc::new(Subscriber::new(
                caller.clone(),
                view.clone(),
                SubscriptionFilter::all(),
            )),
            id,
            endpoint,
            view,
            version: ProtocolVersion::negotiate_legacy(&proposed),
            caller,
            name,
            streams: Streams::default(),
            watched: WatchedResources::default(),
            capabilities: ClientCapabilities::new(
                params.get("capabilities").map(ToOwned::to_owned),
            ),
            log_level: Mutex::new(None),
            next_question: AtomicI64::new(1),
            questions: Mutex::default(),
            running: Mutex::default(),
            last_seen: Mutex::new(Instant::now()),
        })
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn client(&self) -> McpClient {
        McpClient {
            caller: self.caller.clone(),
            era: Era::Legacy,
            id: self.id.as_str().into(),
            name: self.name.clone(),
            capabilities: self.capabilities.clone(),
            logs: lock(&self.log_level).map_or(RequestedLogs::Unset, RequestedLogs::From),
        }
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *lock(&self.log_level) = Some(level);
    }

    /// Registers a question to the client, and returns the receiver of its answer.
    pub(crate) fn new_question(
        &self,
        method: &str,
        params: Option<Raw>,
    ) -> (Request, oneshot::Receiver<Result<Raw, ErrorObject>>) {
        let id = RequestId::Number(self.next_question.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), reply);
        (
            Request {
                id,
                method: method.to_owned(),
                params,
            },
            answer,
        )
    }

    pub(crate) fn forget_question(&self, id: &RequestId) {
        lock(&self.questions).remove(id);
    }

    /// Delivers a client's answer to a question of the gateway. An answer to no question is
    /// dropped.
    pub(crate) fn deliver_answer(&self, response: Response) {
        if let Some(reply) = response.id.and_then(|id| lock(&self.questions).remove(&id)) {
            let _ = reply.send(response.outcome);
        }
    }

    /// Registers a running request, so that the client can cancel it by its id.
    pub(crate) fn begin_request(&self, id: &RequestId, cancelled: &CancellationToken) {
        lock(&self.running).insert(id.clone(), cancelled.clone());
    }

    pub(crate) fn end_request(&self, id: &RequestId) {
        lock(&self.running).remove(id);
    }

    pub(crate) fn cancel_request(&self, id: &RequestId) {
        if let Some(token) = lock(&self.running).remove(id) {
            token.cancel();
        }
    }

    /// Stops watching resources, because the session ends.
    pub(crate) async fn stop_watching(&self) {
        self.subscriber.filter().uris.clear();
        self.watched.end().await;
    }

    /// Cancels everything that runs, because the session is over.
    pub(crate) fn close(&self) {
        for (_, token) in lock(&self.running).drain() {
            token.cancel();
        }
        self.subscriber.mailbox.close();
    }

    pub(crate) fn touch(&self) {
        *lock(&self.last_seen) = Instant::now();
    }

    pub(crate) fn last_seen(&self) -> Instant {
        *lock(&self.last_seen)
    }

    pub(crate) fn is_abandoned(&self, after: Duration) -> bool {
        lock(&self.last_seen).elapsed() >= after
            && lock(&self.running).is_empty()
            && !self.subscriber.has_reader()
    }
}
