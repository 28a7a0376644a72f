//! What goes on beside the requests: servers are listed, listings kept, changes announced.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_domain::ServerName;
use kitbag_store::StoredListing;
use kitbag_upstream::{CallError, Listing, Notice, NoticeKind, Server};
use kitbag_wire::meta::method;
use kitbag_wire::{Notification, Raw, RawObject};
use tokio::sync::{Semaphore, mpsc};

use crate::front::forget_subscriptions;
use crate::rooms::{Rooms, now};
use crate::session::announcements::Filter;
use crate::turn::View;

/// Servers that are started at once to be listed for the first time.
const LISTED_AT_ONCE: usize = 4;
const LONGEST_TURN: Duration = Duration::from_secs(2);
/// Changes that come this close together are answered with one new listing.
const SETTLE: Duration = Duration::from_millis(50);
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// Asks every server that was never listed what it offers. Those known from an earlier run
/// are left asleep.
pub(crate) async fn list_unknown(rooms: Arc<Rooms>) {
    let unknown: Vec<_> =
        rooms.upstreams.iter().filter(|server| server.listing().is_none()).cloned().collect();
    if unknown.is_empty() {
        return;
    }
    let places = Semaphore::new(LISTED_AT_ONCE);
    join_all(unknown.iter().map(|server| list_in_turn(&rooms, server, &places))).await;
    tracing::info!(tools = rooms.catalog().tools.len(), "every server has been asked what it offers");
}

/// A server that takes long, or hangs, goes on without its place: the others need not wait.
async fn list_in_turn(rooms: &Rooms, server: &Arc<Server>, places: &Semaphore) {
    let place = places.acquire().await;
    let mut listing = pin!(refresh(rooms, server, Changes::default()));
    let listed = match tokio::time::timeout(LONGEST_TURN, &mut listing).await {
        Ok(listed) => listed,
        Err(_) => {
            drop(place);
            listing.await
        }
    };
    mention_failure(server, listed);
}

/// Hears what servers announce, until the house closes.
pub(crate) async fn follow_notices(rooms: Arc<Rooms>, mut notices: mpsc::UnboundedReceiver<Notice>) {
    let mut changed: HashMap<ServerName, Changes> = HashMap::new();
    loop {
        let notice = if changed.is_empty() {
            match notices.recv().await {
                Some(notice) => notice,
                None => return,
            }
        } else {
            match tokio::time::timeout(SETTLE, notices.recv()).await {
                Ok(Some(notice)) => notice,
                Ok(None) => return,
                Err(_quiet) => {
                    for (name, changes) in changed.drain() {
                        relist(&rooms, &name, changes);
                    }
                    continue;
                }
            }
        };
        match notice.kind {
            NoticeKind::ResourceUpdated(params) => announce_update(&rooms, &notice.server, &params),
            kind => changed.entry(notice.server).or_default().add(&kind),
        }
    }
}

/// Keeps the index in step with the catalog, until the house closes.
pub(crate) async fn follow_catalog(rooms: Arc<Rooms>) {
    loop {
        rooms.catalog_changed.notified().await;
        let catalog = rooms.catalog();
        let overtaken = || !Arc::ptr_eq(&catalog, &rooms.catalog());
        let progress = |done: usize, total: usize| {
            if total > 0 {
                tracing::info!(done, total, "texts embedded");
            }
        };
        rooms.index.rebuild(&catalog, overtaken, progress).await;
    }
}

/// Now and then: takes out sessions nobody came back to, and asks servers that could not be
/// listed so far whether they can be by now.
pub(crate) async fn tidy(rooms: Arc<Rooms>) {
    loop {
        tokio::time::sleep(TIDY_EVERY).await;
        for server in rooms.upstreams.iter().filter(|server| server.listing().is_none()) {
            relist(&rooms, server.name(), Changes::default());
        }
        for session in rooms.sessions.forget_abandoned() {
            forget_subscriptions(&rooms, &session).await;
        }
    }
}

/// Lists a server, keeps the listing and tells whoever wants to know.
pub(crate) async fn refresh(
    rooms: &Rooms,
    server: &Arc<Server>,
    announced: Changes,
) -> Result<Arc<Listing>, CallError> {
    let before = server.listing();
    let early = |listing: &Listing| {
        rooms.rebuild_catalog();
        announce_changes(rooms, server.name(), Changes::between(before.as_deref(), listing));
    };
    let listing = server.list(early).await?;
    for problem in &listing.problems {
        tracing::debug!(server = %server.name(), about = problem.about, "{}", problem.what);
    }
    rooms.rebuild_catalog();
    keep(rooms, server, &listing).await;
    announce_changes(rooms, server.name(), announced.or(Changes::between(before.as_deref(), &listing)));
    Ok(listing)
}

/// Which lists of a server are not what they were.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changes {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Changes {
    fn add(&mut self, kind: &NoticeKind) {
        match kind {
            NoticeKind::ToolsChanged => self.tools = true,
            NoticeKind::PromptsChanged => self.prompts = true,
            NoticeKind::ResourcesChanged => self.resources = true,
            NoticeKind::Started | NoticeKind::ResourceUpdated(_) => {}
        }
    }

    fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }

    fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }

    fn between(before: Option<&Listing>, after: &Listing) -> Self {
        let texts = |items: &[Raw]| items.iter().map(|item| item.get().to_owned()).collect::<Vec<_>>();
        let differ = |list: fn(&Listing) -> &[Raw]| {
            before.map_or(!list(after).is_empty(), |before| texts(list(before)) != texts(list(after)))
        };
        Self {
            tools: differ(|it| &it.tools),
            prompts: differ(|it| &it.prompts),
            resources: differ(|it| &it.resources) || differ(|it| &it.templates),
        }
    }
}

fn relist(rooms: &Arc<Rooms>, name: &ServerName, changes: Changes) {
    let Some(server) = rooms.upstreams.get(name).cloned() else { return };
    if !changes.any() && !server.is_stale() {
        return;
    }
    let rooms = rooms.clone();
    tokio::spawn(async move { mention_failure(&server, refresh(&rooms, &server, changes).await) });
}

fn mention_failure(server: &Server, listed: Result<Arc<Listing>, CallError>) {
    match listed {
        Ok(_) => {}
        // The house is closing; nobody failed.
        Err(error) if server.is_closing() => tracing::debug!(server = %server.name(), "{error}"),
        Err(error) => tracing::warn!(server = %server.name(), "{error}"),
    }
}

async fn keep(rooms: &Rooms, server: &Server, listing: &Listing) {
    let body = serde_json::to_string(listing).expect("a listing is plain JSON");
    let stored = StoredListing {
        server: server.name().clone(),
        fingerprint: server.spec().fingerprint(),
        body,
        listed_at: now(),
    };
    if let Err(error) = rooms.store.put_listing(&stored).await {
        tracing::warn!(server = %server.name(), %error, "the listing could not be kept for the next start");
    }
}

fn announce_changes(rooms: &Rooms, server: &ServerName, changes: Changes) {
    let announce = |method: &str, wanted: fn(&Filter) -> bool| {
        for subscriber in rooms.sessions.subscribers() {
            if concerns(&subscriber.view, server)
                && wanted(&subscriber.filter())
                && rooms.policy.server_visible(&subscriber.caller, server)
            {
                subscriber.mailbox.put(Notification::new(method, None).into());
            }
        }
    };
    if changes.tools {
        announce(method::TOOLS_CHANGED, |filter| filter.tools);
    }
    if changes.prompts {
        announce(method::PROMPTS_CHANGED, |filter| filter.prompts);
    }
    if changes.resources {
        announce(method::RESOURCES_CHANGED, |filter| filter.resources);
    }
}

fn announce_update(rooms: &Rooms, server: &ServerName, params: &Raw) {
    let Ok(object) = RawObject::open(params) else { return };
    let Some(own) = object.read::<String>("uri") else { return };
    let exposed = rooms.catalog().exposed_uri(server, &own);
    for subscriber in rooms.sessions.subscribers() {
        let uri = match &subscriber.view {
            View::One(_) => &own,
            View::All => &exposed,
        };
        if concerns(&subscriber.view, server) && subscriber.filter().uris.contains(uri) {
            let params = object.clone().with("uri", uri).to_raw();
            subscriber.mailbox.put(Notification::new(method::RESOURCE_UPDATED, Some(params)).into());
        }
    }
}

fn concerns(view: &View, server: &ServerName) -> bool {
    match view {
        View::All => true,
        View::One(one) => one == server,
    }
}
