//! `GET /ui/events` tells open pages which of their parts have changed.
//!
//! While a page is open, one task compares the state with that of a second ago. It sends the names
//! of topics, never data: the page then asks for itself again.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use futures::{Stream, StreamExt as _};
use kitbag_config::server_log_path;
use kitbag_domain::sync::lock;
use tokio::sync::watch;

use super::Pages;
use super::visitor::Visitor;

pub(super) const EVENTS: &str = "/ui/events";

const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A number for each topic, which changes with what the topic stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TopicVersions {
    calls: i64,
    servers: u64,
    tools: u64,
    learned: u64,
    access: u64,
    logs: u64,
}

/// Watches the state while at least one page is open.
#[derive(Default)]
pub(super) struct PageFeed {
    versions: Mutex<Option<watch::Receiver<TopicVersions>>>,
}

pub(super) fn routes() -> Router<Pages> {
    Router::new().route(EVENTS, get(stream_changes))
}

async fn stream_changes(
    State(pages): State<Pages>,
    visitor: Visitor,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let versions = pages.changes.subscribe(&pages).await;
    let sent = *versions.borrow();
    let stream = ChangeStream {
        versions,
        sent,
        visitor,
    };
    let events = futures::stream::unfold(stream, async |mut stream| {
        let topics = stream.next_topics().await?;
        let event = Event::default().event("changed").data(topics.join(" "));
        Some((Ok(event), stream))
    });
    // An open page must not delay the end of the gateway.
    let events = events.take_until(pages.ended.cancelled_owned());
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// The changes that one open page has not been told about.
struct ChangeStream {
    versions: watch::Receiver<TopicVersions>,
    sent: TopicVersions,
    visitor: Visitor,
}

impl ChangeStream {
    /// Waits for a change. Returns `None` if the person may no longer see the page.
    async fn next_topics(&mut self) -> Option<Vec<&'static str>> {
        loop {
            self.versions.changed().await.ok()?;
            if !self.visitor.is_still_admitted().await {
                return None;
            }
            let current = *self.versions.borrow_and_update();
            let topics = current.changed_topics(self.sent);
            self.sent = current;
            if !topics.is_empty() {
                return Some(topics);
            }
        }
    }
}

impl PageFeed {
    /// Returns the current versions, and starts to watch if nobody did.
    async fn subscribe(self: &Arc<Self>, pages: &Pages) -> watch::Receiver<TopicVersions> {
        let first = TopicVersions::read(pages).await;
        let mut versions = lock(&self.versions);
        if let Some(versions) = &*versions
            && versions.has_changed().is_ok()
        {
            return versions.clone();
        }
        let (sender, receiver) = watch::channel(first);
        *versions = Some(receiver.clone());
        tokio::spawn(follow_state(pages.clone(), sender));
        receiver
    }
}

/// Publishes the versions until no page is open.
async fn follow_state(pages: Pages, sender: watch::Sender<TopicVersions>) {
    // The feed itself holds one receiver.
    while sender.receiver_count() > 1 {
        tokio::time::sleep(POLL_INTERVAL).await;
        let current = TopicVersions::read(&pages).await;
        sender.send_if_modified(|versions| std::mem::replace(versions, current) != current);
    }
}

impl TopicVersions {
    async fn read(pages: &Pages) -> Self {
        let gateway = pages.gateway();
        let store = &gateway.services.store;
        let mut servers = DefaultHasher::new();
        for server in gateway.upstreams.iter() {
            server.name().hash(&mut servers);
            server.is_running().hash(&mut servers);
            server
                .start_problem()
                .map(|it| it.to_string())
                .hash(&mut servers);
            server
                .list_failure()
                .map(|it| it.to_string())
                .hash(&mut servers);
        }
        let stored = *store.watch_changes().borrow();
        (stored.secrets, stored.logins, stored.credentials).hash(&mut servers);
        pages.locks.version().hash(&mut servers);
        Self {
            // The hours of a chart are counted in the background.
            calls: store.newest_audit_row_id().await.unwrap_or_default()
                + pages.app.counted_hours() as i64,
            servers: servers.finish(),
            tools: Arc::as_ptr(&gateway.catalog()) as usize as u64,
            learned: stored.lessons + stored.priors + stored.learned_templates,
            access: stored.keys,
            logs: log_sizes(pages),
        }
    }

    fn changed_topics(self, former: Self) -> Vec<&'static str> {
        let topics = [
            ("calls", self.calls != former.calls),
            ("servers", self.servers != former.servers),
            ("tools", self.tools != former.tools),
            ("learned", self.learned != former.learned),
            ("access", self.access != former.access),
            ("logs", self.logs != former.logs),
        ];
        let changed = topics.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(topic, _)| topic).collect()
    }
}

/// Returns a number that changes with the logs of servers.
fn log_sizes(pages: &Pages) -> u64 {
    let mut sizes = DefaultHasher::new();
    if let Ok(folder) = pages.source.data_dir() {
        let gateway = pages.gateway();
        for server in gateway.upstreams.iter() {
            let log = server_log_path(&folder, server.name());
            std::fs::metadata(log)
                .ok()
                .map(|it| it.len())
                .hash(&mut sizes);
        }
    }
    sizes.finish()
}
