//! Keeps announcements of a server coming: list changes, and updates of watched resources.
//!
//! Modern servers send them only on a `subscriptions/listen` stream, which is opened anew
//! with another filter when the watched resources change. Legacy servers send list changes
//! unasked, and take a `resources/subscribe` for each resource.

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
use crate::exchange::{CallEvent, CallTimeouts, InFlight};

/// A server that acknowledges nothing for this long may still send updates, so we go on.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);
/// A start takes about as long, so a server that acknowledges nothing is not slowed down much.
const FIRST_TIMEOUT: Duration = Duration::from_millis(500);
/// Updates that were sent on the former stream arrive within this time.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A server that ends its stream at once must not be asked without a pause.
const RETRY_DELAY: Duration = Duration::from_secs(2);

pub(crate) struct ResourceWatch {
    connection: Arc<Connection>,
    wanted: watch::Sender<BTreeSet<String>>,
    /// The resources that the server has acknowledged last.
    heard: watch::Receiver<Option<BTreeSet<String>>>,
    task: AbortHandle,
}

impl ResourceWatch {
    pub(crate) fn begin(connection: Arc<Connection>, uris: BTreeSet<String>) -> Self {
        let (wanted, changes) = watch::channel(uris);
        let (hears, heard) = watch::channel(None);
        let task = match connection.hello.era {
            Era::Modern => {
                // Before any call goes out, or the changes that the first call makes would be missed.
                let uris = changes.borrow().clone();
                let first =
                    filter(&connection, &uris).map(|params| (uris, open(&connection, params)));
                tokio::spawn(listen(connection.clone(), first, changes, hears))
            }
            Era::Legacy => tokio::spawn(subscribe_all(connection.clone(), changes)),
        };
        Self {
            connection,
            wanted,
            heard,
            task: task.abort_handle(),
        }
    }

    /// Returns when a modern server has acknowledged the subscription, or after a while: changes that
    /// an earlier call makes would be missed.
    pub(crate) async fn begun(&self) {
        if self.connection.hello.era == Era::Modern {
            let mut heard = self.heard.clone();
            let _ = tokio::time::timeout(FIRST_TIMEOUT, heard.wait_for(Option::is_some)).await;
        }
    }

    /// Watches one more resource; returns when the server has acknowledged it.
    pub(crate) async fn add(&self, uri: &str, all: BTreeSet<String>) -> Result<(), CallError> {
        match self.connection.hello.era {
            Era::Legacy => self.tell(method::SUBSCRIBE, uri).await,
            Era::Modern => {
                self.want(all);
                let mut heard = self.heard.clone();
                let agreed =
                    heard.wait_for(|heard| heard.as_ref().is_some_and(|heard| heard.contains(uri)));
                // A server that never acknowledges may still send; there is nothing to report.
                let _ = tokio::time::timeout(ACKNOWLEDGE_TIMEOUT, agreed).await;
                Ok(())
            }
        }
    }

    pub(crate) async fn remove(&self, uri: &str, all: BTreeSet<String>) -> Result<(), CallError> {
        match self.connection.hello.era {
            Era::Legacy => self.tell(method::UNSUBSCRIBE, uri).await,
            Era::Modern => {
                self.want(all);
                Ok(())
            }
        }
    }

    fn want(&self, all: BTreeSet<String>) {
        self.wanted.send_if_modified(|wanted| {
            let changed = *wanted != all;
            *wanted = all;
            changed
        });
    }

    async fn tell(&self, method: &str, uri: &str) -> Result<(), CallError> {
        let params = RawObject::new().with("uri", uri);
        self.connection
            .ask(method, params, CallTimeouts::of(ACKNOWLEDGE_TIMEOUT))
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
            .ask(
                method::SUBSCRIBE,
                params,
                CallTimeouts::of(ACKNOWLEDGE_TIMEOUT),
            )
            .await;
    }
}

fn open(connection: &Connection, params: RawObject) -> InFlight {
    connection.open_ended(method::LISTEN, params, CallTimeouts::ENDLESS)
}

async fn listen(
    connection: Arc<Connection>,
    mut first: Option<(BTreeSet<String>, InFlight)>,
    mut wanted: watch::Receiver<BTreeSet<String>>,
    heard: watch::Sender<Option<BTreeSet<String>>>,
) {
    // The last stream that the server has acknowledged goes on until it acknowledges the next, so
    // that nothing is missed in between.
    let mut former: Option<InFlight> = None;
    while connection.is_open() {
        let uris = wanted.borrow_and_update().clone();
        let Some(params) = filter(&connection, &uris) else {
            drop(former.take());
            heard.send_replace(Some(uris));
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        };
        let opened = first.take().filter(|(asked_for, _)| *asked_for == uris);
        let mut stream = opened.map_or_else(|| open(&connection, params), |(_, stream)| stream);
        let mut acknowledged = false;
        loop {
            tokio::select! {
                event = stream.next() => match event {
                    CallEvent::Done(_) => {
                        tokio::time::sleep(RETRY_DELAY).await;
                        break;
                    }
                    CallEvent::Other { method, .. } if method == method::SUBSCRIPTION_ACKNOWLEDGED => {
                        acknowledged = true;
                        if let Some(former) = former.take() {
                            let_go(&connection, former);
                        }
                        heard.send_replace(Some(uris.clone()));
                    }
                    _ => {}
                },
                changed = wanted.changed() => match changed {
                    Ok(()) => {
                        if acknowledged {
                            former = Some(stream);
                        }
                        break;
                    }
                    Err(_) => return,
                },
            }
        }
    }
}

/// Ends a stream that another one replaces. On a pipe, all its updates have arrived before the next
/// stream was acknowledged. Over HTTP each stream has a connection of its own, and the last updates
/// may still be on their way; it does no harm if some then come twice.
fn let_go(connection: &Connection, former: InFlight) {
    if connection.is_pipe() {
        return drop(former);
    }
    tokio::spawn(async move {
        tokio::time::sleep(LAST_WORDS).await;
        drop(former);
    });
}

/// True if the server says that it announces changes of this list.
fn announces_changes(connection: &Connection, list: &str) -> bool {
    let capability = connection.hello.capabilities.object(list);
    let announced = capability.and_then(|capability| capability.read::<bool>("listChanged"));
    announced.unwrap_or(false)
}

/// Returns the filter of a subscription: the changes that the server announces, and the watched
/// resources.
fn filter(connection: &Connection, uris: &BTreeSet<String>) -> Option<RawObject> {
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
