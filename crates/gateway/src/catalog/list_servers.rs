//! Asks servers what they offer, a few at a time, and keeps what they say.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_config::ServerLock;
use kitbag_domain::{ServerName, UnmaskedHash, WriteClass};
use kitbag_store::StoredListing;
use kitbag_upstream::{CallError, Listing, ListingProblem, Server};
use tokio::sync::Semaphore;

use crate::catalog::drift;
use crate::front::announce::{ListChanges, announce_changes};
use crate::state::background::warn_about_unknown_tools;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;

/// A process keeps a core busy while it starts, or waits for a download.
const PROCESSES_AT_ONCE: usize = 8;
/// Each has up to five connections open meanwhile, and many systems allow a process a thousand.
const ADDRESSES_AT_ONCE: usize = 64;
/// Most servers answer within this; with sixteen that hang, the others still have their turn after seconds.
const LONGEST_TURN: Duration = Duration::from_secs(2);

/// The places of the servers that are asked at the same time.
pub(crate) struct ListingPermits {
    processes: Semaphore,
    addresses: Semaphore,
}

/// Asks every server that was never listed what it offers. Those known from an earlier run
/// are left asleep, unless a client watches what they have.
pub async fn list_new_servers(host: Arc<GatewayHost>) {
    let gateway = host.gateway();
    let wanted = |server: &&Arc<Server>| server.listing().is_none() || server.is_missed();
    let unknown: Vec<_> = gateway.upstreams.iter().filter(wanted).cloned().collect();
    if unknown.is_empty() {
        log_unannotated_tools(&gateway);
        return warn_about_unknown_tools(&gateway);
    }
    let places = ListingPermits::default();
    join_all(
        unknown
            .iter()
            .map(|server| list_first(&host, server, &places)),
    )
    .await;
    tracing::info!(
        tools = host.gateway().catalog().tools.len(),
        "every server has been asked what it offers"
    );
    log_unannotated_tools(&host.gateway());
    warn_about_unknown_tools(&host.gateway());
}

/// Tells the operator how many tools do not say if they only read, which decides what programs may
/// call.
fn log_unannotated_tools(gateway: &Gateway) {
    let catalog = gateway.catalog();
    let unannotated = catalog.tools.iter().filter(|it| it.lacks_hints);
    let (read, unknown): (Vec<_>, Vec<_>) =
        unannotated.partition(|it| gateway.write_class(it) == WriteClass::Read);
    if read.is_empty() && unknown.is_empty() {
        return;
    }
    tracing::info!(
        unannotated = read.len() + unknown.len(),
        taken_to_read = read.len(),
        "some tools do not say whether they only read; programs may call those that are taken to read, \
         and `write_class` in [tools] decides for others"
    );
}

async fn list_first(host: &Arc<GatewayHost>, server: &Arc<Server>, places: &ListingPermits) {
    log_listing_failure(server, places.list_server(host, server).await);
}

impl ListingPermits {
    /// Lists a server when a place is free. A server that takes long, or hangs, goes on without its
    /// place: the others need not wait.
    pub(crate) async fn list_server(
        &self,
        host: &Arc<GatewayHost>,
        server: &Arc<Server>,
    ) -> Result<Arc<Listing>, CallError> {
        let place = self.semaphore_for(server).acquire().await;
        let mut listing = pin!(refresh_listing(host, server, ListChanges::default()));
        match tokio::time::timeout(LONGEST_TURN, &mut listing).await {
            Ok(listed) => listed,
            Err(_) => {
                drop(place);
                listing.await
            }
        }
    }

    fn semaphore_for(&self, server: &Server) -> &Semaphore {
        match server.spec().launch().is_some() {
            true => &self.processes,
            false => &self.addresses,
        }
    }
}

impl Default for ListingPermits {
    fn default() -> Self {
        Self {
            processes: Semaphore::new(PROCESSES_AT_ONCE),
            addresses: Semaphore::new(ADDRESSES_AT_ONCE),
        }
    }
}

/// Lists a server, keeps the listing and tells the clients that want to know.
pub(crate) async fn refresh_listing(
    host: &Arc<GatewayHost>,
    server: &Arc<Server>,
    announced: ListChanges,
) -> Result<Arc<Listing>, CallError> {
    let before = server.listing();
    let early = |listing: &Listing| {
        let changes = ListChanges::between(before.as_deref(), listing);
        let (host, name) = (host.clone(), server.name().clone());
        tokio::spawn(async move {
            host.rebuild_catalog().await;
            announce_changes(&host.gateway(), &name, changes);
        });
    };
    let definitions = host.gateway().services.definitions.clone();
    if let Some(before) = &before {
        definitions.record_listing(server.name(), before);
    }
    let listing = server.read_all_lists(early).await?;
    definitions.record_listing(server.name(), &listing);
    // Another listing may come from another version of the server.
    let intents = &host.gateway().services.intents;
    intents.forget_results_of(server.name());
    log_listing_problems(server, &listing);
    host.rebuild_catalog().await;
    let gateway = host.gateway();
    store_listing(&gateway, server, &listing).await;
    store_approved_definitions(&gateway, server.name(), &listing).await;
    announce_changes(
        &gateway,
        server.name(),
        announced.or(ListChanges::between(before.as_deref(), &listing)),
    );
    Ok(listing)
}

/// Warns the operator of problems that keep something from clients. The other problems go to the
/// debug log, for the developer who repairs the server.
fn log_listing_problems(server: &Server, listing: &Listing) {
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

pub(crate) fn log_listing_failure(server: &Server, listed: Result<Arc<Listing>, CallError>) {
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
async fn store_approved_definitions(gateway: &Gateway, server: &ServerName, listing: &Listing) {
    let ServerLock::Locked(locked) = gateway.lock.server_lock(server) else {
        return;
    };
    let listed = drift::listed_offer(listing).definitions().into_iter();
    let approved = listed.filter(|it| locked.is_approved(it));
    let approved: Vec<_> = approved.map(drift::approved_definition).collect();
    if let Err(error) = gateway
        .services
        .store
        .put_approved_definitions(&approved)
        .await
    {
        tracing::warn!(%server, %error, "the approved definitions could not be kept");
    }
}

async fn store_listing(gateway: &Gateway, server: &Server, listing: &Arc<Listing>) {
    let (mut kept, name) = (listing.clone(), server.name());
    if !kept.unmasked.is_empty() {
        // The hash of a text with a secret in it helps to guess the secret, so only those are kept that the
        // lock file has anyway.
        let offer = drift::listed_offer(listing).definitions();
        let is_needed = |it: &UnmaskedHash| {
            let mut listed = offer
                .iter()
                .filter(|listed| listed.kind == it.kind && listed.name == it.name);
            match gateway.lock.server_lock(name) {
                ServerLock::Locked(locked) => listed.any(|listed| locked.is_approved(listed)),
                ServerLock::Unlocked | ServerLock::Unreadable => false,
            }
        };
        Arc::make_mut(&mut kept).unmasked.retain(is_needed);
    }
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
