//! Receives a server's announcements: list changes, and updates of watched resources.
//!
//! Modern servers send them only on a `subscriptions/listen` stream, which is reopened with another
//! filter when the watched resources change. Legacy servers send list changes by default, and need
//! a `resources/subscribe` for each resource.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kitbag_wire::meta::method;
use kitbag_wire::{Era, RawObject};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::connection::Connection;
use crate::error::CallError;
use crate::exchange::{CallEvent, CallTimeouts, InFlightCall};

/// A server that acknowledges nothing for this long may still send updates, so calls go on.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);
/// A start takes about as long, so a server that acknowledges nothing is not slowed down much.
const FIRST_TIMEOUT: Duration = Duration::from_millis(500);
/// Updates sent on the previous stream arrive within this time.
const STREAM_OVERLAP: Duration = Duration::from_secs(1);
/// A server that ends its stream at once must not be asked without a pause.
const RETRY_DELAY: Duration = Duration::from_secs(2);

pub(crate) struct ResourceWatch {
    connection: Arc<Connection>,
    wanted: watch::Sender<BTreeSet<String>>,
    /// The resources that the server last acknowledged.
    acknowledged: watch::Receiver<Option<BTreeSet<String>>>,
    task: AbortHandle,
}

impl ResourceWatch {
    pub(crate) fn start(connection: Arc<Connection>, uris: BTreeSet<String>) -> Self {
        let (wanted, changes) = watch::channel(uris);
        let (acknowledge, acknowledged) = watch::channel(None);
        let task = match connection.hello.era {
            Era::Modern => {
                // Before any call goes out, or the changes made by the first call would be missed.
                let uris = changes.borrow().clone();
                let first = subscription_filter(&connection, &uris)
                    .map(|params| (uris, open_stream(&connection, params)));
                let listener = ChangeListener {
                    connection: connection.clone(),
                    wanted: changes,
                    acknowledged: acknowledge,
                    former: None,
                };
                tokio::spawn(listener.listen(first))
            }
            Era::Legacy => tokio::spawn(subscribe_all(connection.clone(), changes)),
        };
        Self {
            connection,
            wanted,
            acknowledged,
            task: task.abort_handle(),
        }
    }

    /// Returns when a modern server has acknowledged the subscription, or after a timeout: changes
    /// made by an earlier call would be missed.
    pub(crate) async fn wait_until_acknowledged(&self) {
        if self.connection.hello.era == Era::Modern {
            let mut acknowledged = self.acknowledged.clone();
            let _ =
                tokio::time::timeout(FIRST_TIMEOUT, acknowledged.wait_for(Option::is_some)).await;
        }
    }

    /// Watches one more resource; returns when the server has acknowledged it.
    pub(crate) async fn add(&self, uri: &str, all: BTreeSet<String>) -> Result<(), CallError> {
        match self.connection.hello.era {
            Era::Legacy => self.send_subscription(method::SUBSCRIBE, uri).await,
            Era::Modern => {
                self.set_wanted(all);
                let mut acknowledged = self.acknowledged.clone();
                let agreed = acknowledged
                    .wait_for(|uris| uris.as_ref().is_some_and(|uris| uris.contains(uri)));
                // A server that never acknowledges may still send; there is nothing to report.
                let _ = tokio::time::timeout(ACKNOWLEDGE_TIMEOUT, agreed).await;
                Ok(())
            }
        }
    }

    pub(crate) async fn remove(&self, uri: &str, all: BTreeSet<String>) -> Result<(), CallError> {
        match self.connection.hello.era {
            Era::Legacy => self.send_subscription(method::UNSUBSCRIBE, uri).await,
            Era::Modern => {
                self.set_wanted(all);
                Ok(())
            }
        }
    }

    fn set_wanted(&self, all: BTreeSet<String>) {
        self.wanted.send_if_modified(|wanted| {
            let changed = *wanted != all;
            *wanted = all;
            changed
        });
    }

    async fn send_subscription(&self, method: &str, uri: &str) -> Result<(), CallError> {
        let params = RawObject::new().with("uri", uri);
        self.connection
            .request(
                method,
                params,
                CallTimeouts::with_single_limit(ACKNOWLEDGE_TIMEOUT),
            )
            .await
            .map(drop)
    }
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Subscribes to every resource again, because a legacy server forgets that when it is restarted.
async fn subscribe_all(connection: Arc<Connection>, wanted: watch::Receiver<BTreeSet<String>>) {
    let uris = wanted.borrow().clone();
    for uri in uris {
        let params = RawObject::new().with("uri", &uri);
        let _ = connection
            .request(
                method::SUBSCRIBE,
                params,
                CallTimeouts::with_single_limit(ACKNOWLEDGE_TIMEOUT),
            )
            .await;
    }
}

fn open_stream(connection: &Connection, params: RawObject) -> InFlightCall {
    connection.send_request(method::LISTEN, params, CallTimeouts::ENDLESS)
}

/// Keeps a subscription to a modern server open for the watched resources.
struct ChangeListener {
    connection: Arc<Connection>,
    wanted: watch::Receiver<BTreeSet<String>>,
    acknowledged: watch::Sender<Option<BTreeSet<String>>>,
    /// The last stream that the server has acknowledged. It stays open until the server
    /// acknowledges the next, so that nothing is missed in between.
    former: Option<InFlightCall>,
}

impl ChangeListener {
    async fn listen(mut self, mut first: Option<(BTreeSet<String>, InFlightCall)>) {
        while self.connection.is_open() {
            let uris = self.wanted.borrow_and_update().clone();
            let opened = first.take().filter(|(asked_for, _)| *asked_for == uris);
            let is_wanted = match (subscription_filter(&self.connection, &uris), opened) {
                (None, _) => self.wait_for_change(uris).await,
                (Some(_), Some((_, stream))) => self.follow_stream(stream, &uris).await,
                (Some(params), None) => {
                    let stream = open_stream(&self.connection, params);
                    self.follow_stream(stream, &uris).await
                }
            };
            if !is_wanted {
                return;
            }
        }
    }

    /// Waits until there is something to listen for. Returns false if there never will be.
    async fn wait_for_change(&mut self, uris: BTreeSet<String>) -> bool {
        self.former = None;
        self.acknowledged.send_replace(Some(uris));
        self.wanted.changed().await.is_ok()
    }

    /// Reads a stream until it ends or the watched resources change. Returns false if none will be
    /// watched any more.
    async fn follow_stream(&mut self, mut stream: InFlightCall, uris: &BTreeSet<String>) -> bool {
        let mut is_acknowledged = false;
        loop {
            tokio::select! {
                event = stream.next() => match event {
                    CallEvent::Done(_) => {
                        tokio::time::sleep(RETRY_DELAY).await;
                        return true;
                    }
                    CallEvent::Other { method, .. } if method == method::SUBSCRIPTION_ACKNOWLEDGED => {
                        is_acknowledged = true;
                        self.mark_acknowledged(uris);
                    }
                    _ => {}
                },
                changed = self.wanted.changed() => {
                    self.former = if is_acknowledged { Some(stream) } else { self.former.take() };
                    return changed.is_ok();
                }
            }
        }
    }

    fn mark_acknowledged(&mut self, uris: &BTreeSet<String>) {
        if let Some(former) = self.former.take() {
            end_stream(&self.connection, former);
        }
        self.acknowledged.send_replace(Some(uris.clone()));
    }
}

/// Ends a stream that another one replaces. On a pipe, all its updates have arrived before the next
/// stream was acknowledged. Over HTTP each stream has its own connection, and the last updates may
/// still be in flight; duplicates are harmless.
fn end_stream(connection: &Connection, former: InFlightCall) {
    if connection.is_pipe() {
        return drop(former);
    }
    tokio::spawn(async move {
        tokio::time::sleep(STREAM_OVERLAP).await;
        drop(former);
    });
}

/// True if the server announces changes of this list.
fn announces_changes(connection: &Connection, list: &str) -> bool {
    let capability = connection.hello.capabilities.get_object(list);
    let announced = capability.and_then(|capability| capability.read::<bool>("listChanged"));
    announced.unwrap_or(false)
}

/// Returns the filter of a subscription: list changes that the server announces, and the watched
/// resources.
fn subscription_filter(connection: &Connection, uris: &BTreeSet<String>) -> Option<RawObject> {
    let mut filter = serde_json::Map::new();
    for (list, key) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if announces_changes(connection, list) {
            filter.insert(key.to_owned(), json!(true));
        }
    }
    if !uris.is_empty() {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    (!filter.is_empty()).then(|| RawObject::new().with("notifications", &filter))
}
