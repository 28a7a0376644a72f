//! Watches the store and applies what a command or another gateway has written to it: listings of
//! servers, priors of tools, credentials, logins, and lessons.

use std::sync::Arc;
use std::time::Duration;

use kitbag_store::ChangeCounts;
use kitbag_upstream::{Listing, Server, StartError};

use crate::catalog::list_servers;
use crate::front::announce::{ListChanges, announce_changes};
use crate::state::follow_tool_files::reload_tool_files;
use crate::state::gateway::Gateway;
use crate::state::host::{GatewayHost, load_listing};

/// Servers that wait for a login are also checked without a change in the store, for example a
/// server that was configured after the user had logged in.
const LOGIN_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Follows the store until the gateway closes.
pub async fn follow_store(host: Arc<GatewayHost>) {
    let mut changes = host.gateway().services.store.watch_changes();
    let mut known = ChangeCounts::default();
    loop {
        let changed = tokio::time::timeout(LOGIN_CHECK_INTERVAL, changes.changed()).await;
        if let Ok(Err(_closed)) = changed {
            return;
        }
        let counts = *changes.borrow_and_update();
        if counts.listings != known.listings {
            apply_listings(&host).await;
        }
        if counts.priors != known.priors {
            host.catalog_changed.notify_one();
        }
        if counts.lessons != known.lessons {
            host.gateway().services.learner.load_new_lessons().await;
        }
        if counts.credentials != known.credentials {
            apply_credentials(&host).await;
        }
        known = counts;
        relist_after_logins(&host).await;
    }
}

/// Reloads credentials, and offers the tools that now have one.
async fn apply_credentials(host: &Arc<GatewayHost>) {
    match host.gateway().services.credentials.reload_names().await {
        Ok(()) => reload_tool_files(host).await,
        Err(error) => tracing::debug!(%error, "failed to reload the credentials"),
    }
}

/// Lists servers again after a user has logged in to them.
async fn relist_after_logins(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    for server in gateway
        .upstreams
        .iter()
        .filter(|it| is_waiting_for_login(it))
    {
        let Some(credentials) = server.credentials() else {
            continue;
        };
        if credentials.has_new_grant().await {
            tracing::info!(server = %server.name(), "the user has logged in");
            if let Err(error) =
                list_servers::refresh_listing(host, server, ListChanges::default()).await
            {
                tracing::warn!(server = %server.name(), %error, "the server cannot be used yet");
            }
        }
    }
}

fn is_waiting_for_login(server: &Server) -> bool {
    server
        .start_problem()
        .is_some_and(|trouble| matches!(*trouble, StartError::Login(_)))
}

/// Adopts newer listings that another process has stored, and announces the changes to clients.
async fn apply_listings(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    let mut changed = Vec::new();
    for server in gateway.upstreams.iter() {
        match newer_listing(&gateway, server).await {
            Ok(Some((listing, changes))) => {
                server.adopt_listing(listing);
                changed.push((server.name().clone(), changes));
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(server = %server.name(), %error, "failed to read the stored listing of a server");
            }
        }
    }
    if changed.is_empty() {
        return;
    }
    host.rebuild_catalog().await;
    for (server, changes) in changed {
        tracing::info!(%server, "adopted the listing of a server from the store");
        announce_changes(&host.gateway(), &server, changes);
    }
}

/// Returns the stored listing and its changes, if it belongs to the same configuration of the
/// server, is newer than the listing in use, and differs from it. An older one is this gateway's
/// own: the listing in use is not stored yet.
async fn newer_listing(
    gateway: &Gateway,
    server: &Server,
) -> Result<Option<(Listing, ListChanges)>, kitbag_store::Error> {
    let known = server.listing();
    let stored = load_listing(server.spec(), &gateway.services.store).await?;
    Ok(stored.and_then(|listing| {
        let changes = ListChanges::between(known.as_deref(), &listing);
        let is_newer =
            known.is_none_or(|known| changes.has_any() && listing.listed_at > known.listed_at);
        is_newer.then_some((listing, changes))
    }))
}
