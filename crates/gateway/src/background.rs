//! The work beside the requests: servers are listed, listings kept, changes announced.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use kitbag_config::ServerLock;
use kitbag_domain::Remedy as _;
use kitbag_domain::{ExposedName, KeyId, ServerName, Timestamp};
use kitbag_store::StoredListing;
use kitbag_upstream::{CallError, Listing, ListingProblem, Notice, NoticeKind, Server};
use tokio::sync::{Semaphore, mpsc};

use crate::announce::{Changes, announce_changes, announce_update};
use crate::clock::now;
use crate::drift;
use crate::gateway::Gateway;
use crate::host::GatewayHost;
use crate::overrides;

/// Servers that are started at once to be listed for the first time.
const LISTED_AT_ONCE: usize = 4;
const LONGEST_TURN: Duration = Duration::from_secs(2);
/// Changes that come this close together are answered with one new listing.
const SETTLE: Duration = Duration::from_millis(50);
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// The interval at which the index is compared with the latest calls.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// The time after which an embedder that failed is asked again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// The interval at which the log mentions a long computation.
const TELL_EVERY: Duration = Duration::from_secs(2);
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// The time within which sessions and streams that a client opened with a key end after the key has
/// ended. Revocations come from other processes, so the store has to be asked.
const LOOK_FOR_ENDED_KEYS: Duration = Duration::from_millis(500);
/// The time within which `kitbag key list` shows that a key was used.
const KEEP_USES_EVERY: Duration = Duration::from_secs(5);
const BETWEEN_PORTIONS: Duration = Duration::from_millis(100);
const FORGOTTEN_AT_ONCE: u32 = 1_000;

/// Asks every server that was never listed what it offers. Those known from an earlier run
/// are left asleep, unless a client watches what they have.
pub async fn list_unknown(host: Arc<GatewayHost>) {
    let gateway = host.gateway();
    let wanted = |server: &&Arc<Server>| server.listing().is_none() || server.is_missed();
    let unknown: Vec<_> = gateway.upstreams.iter().filter(wanted).cloned().collect();
    if unknown.is_empty() {
        return mention_unknown_tools(&gateway);
    }
    let places = Semaphore::new(LISTED_AT_ONCE);
    join_all(
        unknown
            .iter()
            .map(|server| list_in_turn(&host, server, &places)),
    )
    .await;
    tracing::info!(
        tools = host.gateway().catalog().tools.len(),
        "every server has been asked what it offers"
    );
    mention_unknown_tools(&host.gateway());
}

/// A server that takes long, or hangs, goes on without its place: the others need not wait.
async fn list_in_turn(host: &Arc<GatewayHost>, server: &Arc<Server>, places: &Semaphore) {
    let place = places.acquire().await;
    let mut listing = pin!(refresh(host, server, Changes::default()));
    let listed = match tokio::time::timeout(LONGEST_TURN, &mut listing).await {
        Ok(listed) => listed,
        Err(_) => {
            drop(place);
            listing.await
        }
    };
    mention_failure(server, listed);
}

/// Receives what servers announce, until the gateway closes.
pub(crate) async fn follow_notices(host: Arc<GatewayHost>, mut notices: mpsc::Receiver<Notice>) {
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
                        relist(&host, &name, changes);
                    }
                    continue;
                }
            }
        };
        match notice.kind {
            NoticeKind::ResourceUpdated(params) => {
                announce_update(&host.gateway(), &notice.server, &params);
            }
            kind => changed.entry(notice.server).or_default().add(&kind),
        }
    }
}

/// Keeps the index in step with the catalog and with the results of calls, until the gateway
/// closes.
pub async fn follow_catalog(host: Arc<GatewayHost>) {
    let mut wait = LOOK_AGAIN;
    loop {
        tokio::select! {
            () = host.catalog_changed.notified() => {}
            () = tokio::time::sleep(wait) => if !host.gateway().services.index.is_outdated().await { continue },
        }
        wait = if index(&host).await {
            LOOK_AGAIN
        } else {
            TRY_AGAIN
        };
    }
}

/// Brings the index up to date. Returns true if every tool has its vector, as far as that depends
/// on the gateway.
async fn index(host: &GatewayHost) -> bool {
    let gateway = host.gateway();
    let catalog = gateway.catalog();
    let overtaken = || !Arc::ptr_eq(&catalog, &host.gateway().catalog());
    let mut told = Instant::now();
    let progress = |done: usize, total: usize| {
        if done < total && told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            tracing::info!(done, total, "texts are being embedded");
        }
    };
    let unlisted = gateway.unlisted();
    let contents = gateway.contents(&catalog, &unlisted);
    if let Err(error) = gateway
        .services
        .index
        .rebuild(&contents, overtaken, progress)
        .await
    {
        tracing::warn!(%error, remedy = error.remedy(), "tools without vectors are found by their words");
        return false;
    }
    if overtaken() {
        return true;
    }
    let snapshot = gateway.services.index.snapshot();
    let (tools, embedded) = snapshot.served();
    tracing::info!(tools, embedded, "the index is up to date");
    if gateway.unlisted().is_empty() {
        gateway.services.index.forget_unused().await;
    }
    true
}

/// Removes what happened longer ago than is kept, in portions small enough not to be noticed.
pub async fn forget_old_audit(host: Arc<GatewayHost>) {
    loop {
        let gateway = host.gateway();
        let before = Timestamp(
            now()
                .0
                .saturating_sub_unsigned(gateway.audit_settings.keep.as_millis() as u64),
        );
        let pause = match gateway
            .services
            .store
            .forget_audit(before, FORGOTTEN_AT_ONCE)
            .await
        {
            Ok(removed) if removed == u64::from(FORGOTTEN_AT_ONCE) => BETWEEN_PORTIONS,
            Ok(_) => FORGET_EVERY,
            Err(error) => {
                tracing::warn!(%error, "old rows of the audit could not be removed");
                FORGET_EVERY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Renews the lessons of another model at the start, and removes those that are older than they are
/// kept, at the start and at intervals.
pub async fn tend_lessons(host: Arc<GatewayHost>) {
    host.gateway().services.learner.renew().await;
    loop {
        let gateway = host.gateway();
        let learner = &gateway.services.learner;
        learner.forget_older_than(gateway.learning.keep).await;
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

/// Closes the sessions and streams of keys that were revoked or have expired.
pub async fn close_ended_keys(host: Arc<GatewayHost>) {
    let mut outage = Outage::of("whether keys were revoked could not be looked up");
    loop {
        tokio::time::sleep(LOOK_FOR_ENDED_KEYS).await;
        let gateway = host.gateway();
        let mut in_use = gateway.services.sessions.keys();
        in_use.extend(gateway.services.holders.keys());
        in_use.extend(gateway.services.parking.keys());
        if in_use.is_empty() {
            continue;
        }
        let in_use: Vec<KeyId> = in_use.into_iter().collect();
        match gateway.services.store.ended_keys(&in_use, now()).await {
            Ok(ended) => {
                outage.is_over();
                close_of(&gateway, &ended).await;
            }
            Err(error) => outage.goes_on(&error),
        }
    }
}

async fn close_of(gateway: &Gateway, ended: &[KeyId]) {
    if ended.is_empty() {
        return;
    }
    let named: Vec<_> = ended.iter().map(ToString::to_string).collect();
    tracing::info!(
        keys = named.join(", "),
        "closing what was opened with keys that have ended"
    );
    gateway.services.holders.cancel_of(ended);
    gateway.services.parking.give_up_of(ended);
    for session in gateway.services.sessions.close_of(ended) {
        session.stop_watching().await;
    }
}

/// Writes down beside the requests when keys were last used.
pub async fn keep_key_uses(host: Arc<GatewayHost>) {
    let mut outage = Outage::of(USES_NOT_WRITTEN);
    loop {
        tokio::time::sleep(KEEP_USES_EVERY).await;
        match host.gateway().services.store.keep_key_uses().await {
            Ok(()) => outage.is_over(),
            Err(error) => outage.goes_on(&error),
        }
    }
}

const USES_NOT_WRITTEN: &str = "when keys were last used could not be written down";

pub(crate) async fn keep_key_uses_now(gateway: &Gateway) {
    if let Err(error) = gateway.services.store.keep_key_uses().await {
        tracing::warn!(%error, "{USES_NOT_WRITTEN}");
    }
}

/// Tells the operator once that work which repeats fails, and once that it succeeds again.
struct Outage {
    what: &'static str,
    lasts: bool,
}

impl Outage {
    fn of(what: &'static str) -> Self {
        Self { what, lasts: false }
    }

    fn goes_on(&mut self, error: &kitbag_store::Error) {
        if !std::mem::replace(&mut self.lasts, true) {
            tracing::warn!(%error, "{}; it is tried again", self.what);
        }
    }

    fn is_over(&mut self) {
        if std::mem::take(&mut self.lasts) {
            tracing::info!("the store answers again");
        }
    }
}

/// Warns of tools in the configuration that no server has; those of servers that could not be
/// asked may well be there.
pub(crate) fn mention_unknown_tools(gateway: &Gateway) {
    let asked = |name: &str| {
        let server =
            ExposedName::server_in(name).and_then(|server| gateway.upstreams.get(&server).cloned());
        server.is_none_or(|server| server.listing().is_some())
    };
    let catalog = gateway.catalog();
    let unknown = gateway.declared.keys().filter(|name| !catalog.knows(name));
    for tool in unknown.filter(|name| asked(name)) {
        tracing::warn!(
            tool,
            "the configuration has a [tools] entry for a tool that no server offers"
        );
    }
    for (tool, problem) in overrides::problems(gateway, &catalog) {
        tracing::warn!(tool, "the configuration does not fit the tool: {problem}");
    }
}

/// At intervals takes out sessions that their clients did not come back to, and asks servers that
/// could not be listed so far whether they can be by now.
pub(crate) async fn tidy(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(TIDY_EVERY).await;
        let gateway = host.gateway();
        for server in gateway
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none())
        {
            relist(&host, server.name(), Changes::default());
        }
        for session in gateway.services.sessions.forget_abandoned() {
            session.stop_watching().await;
        }
    }
}

/// Lists a server, keeps the listing and tells the clients that want to know.
pub(crate) async fn refresh(
    host: &Arc<GatewayHost>,
    server: &Arc<Server>,
    announced: Changes,
) -> Result<Arc<Listing>, CallError> {
    let before = server.listing();
    let early = |listing: &Listing| {
        let changes = Changes::between(before.as_deref(), listing);
        let (host, name) = (host.clone(), server.name().clone());
        tokio::spawn(async move {
            host.rebuild_catalog().await;
            announce_changes(&host.gateway(), &name, changes);
        });
    };
    let definitions = host.gateway().services.definitions.clone();
    if let Some(before) = &before {
        definitions.learn(server.name(), before);
    }
    let listing = server.list(early).await?;
    definitions.learn(server.name(), &listing);
    // Another listing may come from another version of the server.
    let intents = &host.gateway().services.intents;
    intents.server_changed(server.name());
    mention_problems(server, &listing);
    host.rebuild_catalog().await;
    let gateway = host.gateway();
    keep(&gateway, server, &listing).await;
    keep_approved(&gateway, server.name(), &listing).await;
    announce_changes(
        &gateway,
        server.name(),
        announced.or(Changes::between(before.as_deref(), &listing)),
    );
    Ok(listing)
}

/// Warns the operator of problems that keep something from clients. The other problems go to the
/// debug log, for the developer who repairs the server.
fn mention_problems(server: &Server, listing: &Listing) {
    for ListingProblem {
        about,
        what,
        incomplete,
    } in &listing.problems
    {
        match incomplete {
            true => tracing::warn!(server = %server.name(), about, "{what}"),
            false => tracing::debug!(server = %server.name(), about, "{what}"),
        }
    }
}

fn relist(host: &Arc<GatewayHost>, name: &ServerName, changes: Changes) {
    let Some(server) = host.gateway().upstreams.get(name).cloned() else {
        return;
    };
    if !changes.any() && !server.is_stale() {
        return;
    }
    let host = host.clone();
    tokio::spawn(async move { mention_failure(&server, refresh(&host, &server, changes).await) });
}

fn mention_failure(server: &Server, listed: Result<Arc<Listing>, CallError>) {
    match listed {
        Ok(_) => {}
        // The server is being closed, so this is no failure.
        Err(error) if server.is_closing() => tracing::debug!(server = %server.name(), "{error}"),
        // A server that cannot be started or has ended is mentioned where that happens.
        Err(error @ (CallError::Start(_) | CallError::Lost { .. })) => {
            tracing::debug!(server = %server.name(), "{error}");
        }
        Err(error) => tracing::warn!(server = %server.name(), "{error}"),
    }
}

/// Keeps the texts of what was approved, also on a machine where no person approved it: a later change
/// can then be shown there, too.
async fn keep_approved(gateway: &Gateway, server: &ServerName, listing: &Listing) {
    let ServerLock::Locked(locked) = gateway.lock.of(server) else {
        return;
    };
    let listed = drift::offer(listing).definitions().into_iter();
    let approved = listed.filter(|it| locked.is_approved(it));
    let approved: Vec<_> = approved.map(drift::approved_definition).collect();
    if let Err(error) = gateway.services.store.put_approved(&approved).await {
        tracing::warn!(%server, %error, "the approved definitions could not be kept");
    }
}

async fn keep(gateway: &Gateway, server: &Server, listing: &Arc<Listing>) {
    let (kept, name) = (listing.clone(), server.name());
    // A long listing takes a while to write down, and requests of others must not wait for that.
    let written = tokio::task::spawn_blocking(move || serde_json::to_string(&*kept));
    let Ok(Ok(body)) = written.await else {
        return tracing::warn!(server = %name, "the listing could not be written down for the next start");
    };
    let stored = StoredListing {
        server: server.name().clone(),
        fingerprint: server.spec().fingerprint(),
        body,
        listed_at: listing.listed_at,
    };
    if let Err(error) = gateway.services.store.put_listing(&stored).await {
        tracing::warn!(server = %server.name(), %error, "the listing could not be kept for the next start");
    }
}
