//! Lists the capabilities of servers, a few servers at a time, and stores the listings.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_config::ServerLock;
use kitbag_domain::{UnmaskedHash, WriteClass};
use kitbag_store::StoredListing;
use kitbag_upstream::{CallError, Listing, ListingProblem, Server};
use tokio::sync::Semaphore;

use crate::catalog::approved_texts::{mask_stored_texts, store_approved_texts};
use crate::catalog::drift;
use crate::front::announce::{ListChanges, announce_changes};
use crate::state::background::warn_about_unknown_tools;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;

/// A process keeps a core busy while it starts, or waits for a download.
const PROCESSES_AT_ONCE: usize = 8;
/// Each has up to five open connections, and many systems allow a thousand per process.
const ADDRESSES_AT_ONCE: usize = 64;
/// Most servers answer within this time. Even if sixteen hang, the others wait only seconds.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Permits for listing servers concurrently.
pub(crate) struct ListingPermits {
    processes: Semaphore,
    addresses: Semaphore,
}

/// Lists every server that was never listed. Servers known from an earlier run are not started,
/// unless a client subscribes to their changes.
pub async fn list_new_servers(host: Arc<GatewayHost>) {
    let gateway = host.gateway();
    for server in gateway.upstreams.iter() {
        mask_stored_texts(&gateway, server).await;
    }
    let wanted =
        |server: &&Arc<Server>| server.listing().is_none() || server.is_watched_while_stopped();
    let unknown: Vec<_> = gateway.upstreams.iter().filter(wanted).cloned().collect();
    if unknown.is_empty() {
        log_unannotated_tools(&gateway);
        return warn_about_unknown_tools(&gateway);
    }
    let permits = ListingPermits::default();
    join_all(
        unknown
            .iter()
            .map(|server| list_first(&host, server, &permits)),
    )
    .await;
    tracing::info!(
        tools = host.gateway().catalog().tools.len(),
        "all servers have been listed"
    );
    log_unannotated_tools(&host.gateway());
    warn_about_unknown_tools(&host.gateway());
}

/// Logs how many tools do not declare whether they only read, which decides what programs may call.
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
        "some tools do not declare whether they only read; programs may call those that seem to; for \
         the others, set `write_class` under [tools]"
    );
}

async fn list_first(host: &Arc<GatewayHost>, server: &Arc<Server>, permits: &ListingPermits) {
    log_listing_failure(server, permits.list_server(host, server).await);
}

impl ListingPermits {
    /// Lists a server when a permit is free. A server that takes long gives its permit back and
    /// continues without it, so that the others need not wait.
    pub(crate) async fn list_server(
        &self,
        host: &Arc<GatewayHost>,
        server: &Arc<Server>,
    ) -> Result<Arc<Listing>, CallError> {
        let permit = self.semaphore_for(server).acquire().await;
        let mut listing = pin!(refresh_listing(host, server, ListChanges::default()));
        match tokio::time::timeout(PERMIT_TIMEOUT, &mut listing).await {
            Ok(listed) => listed,
            Err(_) => {
                drop(permit);
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

/// Lists a server, stores the listing and notifies interested clients.
pub(crate) async fn refresh_listing(
    host: &Arc<GatewayHost>,
    server: &Arc<Server>,
    announced: ListChanges,
) -> Result<Arc<Listing>, CallError> {
    mask_stored_texts(&host.gateway(), server).await;
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
    store_approved_texts(&gateway, server.name(), &listing).await;
    announce_changes(
        &gateway,
        server.name(),
        announced.or(ListChanges::between(before.as_deref(), &listing)),
    );
    Ok(listing)
}

/// Warns of problems that hide something from clients. Other problems go to the debug log, for the
/// server's developer.
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
        // The server is being closed, so this is not an error.
        Err(error) if server.is_closing() => tracing::debug!(server = %server.name(), "{error}"),
        // Servers that fail to start or exit are logged where that happens.
        Err(error @ (CallError::Start(_) | CallError::Lost { .. })) => {
            tracing::debug!(server = %server.name(), "{error}");
        }
        Err(error) => tracing::warn!(server = %server.name(), "{error}"),
    }
}

async fn store_listing(gateway: &Gateway, server: &Server, listing: &Arc<Listing>) {
    let (mut trimmed, name) = (listing.clone(), server.name());
    if !trimmed.unmasked.is_empty() {
        // The hash of a text that contains a secret helps to guess the secret, so only hashes that
        // are in the lock file anyway are stored.
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
        Arc::make_mut(&mut trimmed).unmasked.retain(is_needed);
    }
    // Serializing a long listing takes a while, and other requests must not wait for it.
    let written = tokio::task::spawn_blocking(move || serde_json::to_string(&*trimmed));
    let Ok(Ok(body)) = written.await else {
        return tracing::warn!(server = %name, "failed to serialize the listing for the next start");
    };
    let stored = StoredListing {
        server: server.name().clone(),
        fingerprint: server.spec().fingerprint(),
        body,
        listed_at: listing.listed_at,
    };
    if let Err(error) = gateway.services.store.put_listing(&stored).await {
        tracing::warn!(server = %server.name(), %error, "failed to store the listing for the next start");
    }
}
