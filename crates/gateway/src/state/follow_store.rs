//! Takes over what a command or another gateway has written into the store: listings of servers,
//! priors of tools, logins of a person, and lessons.

use std::sync::Arc;
use std::time::Duration;

use kitbag_store::ChangeCounts;
use kitbag_upstream::{Listing, Server, StartError};

use crate::catalog::list_servers;
use crate::front::announce::{Changes, announce_changes};
use crate::state::follow_tool_files::look;
use crate::state::gateway::Gateway;
use crate::state::host::{GatewayHost, stored_listing};

/// A login may also end a trouble that no change of the store tells of, such as that of a server
/// which was configured after the person had logged in.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Follows the store until the gateway closes.
pub async fn follow(host: Arc<GatewayHost>) {
    let mut changes = host.gateway().services.store.changes();
    let mut known = ChangeCounts::default();
    loop {
        let changed = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
        if let Ok(Err(_closed)) = changed {
            return;
        }
        let counts = *changes.borrow_and_update();
        if counts.listings != known.listings {
            take_over_listings(&host).await;
        }
        if counts.priors != known.priors {
            host.catalog_changed.notify_one();
        }
        if counts.lessons != known.lessons {
            host.gateway().services.learner.read_on().await;
        }
        if counts.credentials != known.credentials {
            take_over_credentials(&host).await;
        }
        known = counts;
        list_after_logins(&host).await;
    }
}

/// Offers the tools for which there is a credential now.
async fn take_over_credentials(host: &Arc<GatewayHost>) {
    match host.gateway().services.credentials.look().await {
        Ok(()) => look(host).await,
        Err(error) => tracing::debug!(%error, "the credentials could not be read again"),
    }
}

/// Lists servers again at which a person has logged in.
async fn list_after_logins(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    for server in gateway.upstreams.iter().filter(|it| waits_for_login(it)) {
        let Some(credentials) = server.credentials() else {
            continue;
        };
        if credentials.has_news().await {
            tracing::info!(server = %server.name(), "a person has logged in");
            if let Err(error) = list_servers::refresh(host, server, Changes::default()).await {
                tracing::warn!(server = %server.name(), %error, "it cannot be used yet");
            }
        }
    }
}

fn waits_for_login(server: &Server) -> bool {
    server
        .trouble()
        .is_some_and(|trouble| matches!(*trouble, StartError::Login(_)))
}

/// Takes over listings that are not those of this gateway, and tells its clients.
async fn take_over_listings(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    let mut changed = Vec::new();
    for server in gateway.upstreams.iter() {
        match other_listing(&gateway, server).await {
            Ok(Some((listing, changes))) => {
                server.take_over_listing(listing);
                changed.push((server.name().clone(), changes));
            }
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(server = %server.name(), %error, "its listing could not be read");
            }
        }
    }
    if changed.is_empty() {
        return;
    }
    host.rebuild_catalog().await;
    for (server, changes) in changed {
        tracing::info!(%server, "its listing was taken over from the store");
        announce_changes(&host.gateway(), &server, changes);
    }
}

/// Returns the listing in the store, if it was made for the same configuration of the server, later
/// than the one in use, and offers something else; and the difference. An earlier one is the last
/// that this gateway kept, while its next one is on the way.
async fn other_listing(
    gateway: &Gateway,
    server: &Server,
) -> Result<Option<(Listing, Changes)>, kitbag_store::Error> {
    let known = server.listing();
    let stored = stored_listing(server.spec(), &gateway.services.store).await?;
    Ok(stored.and_then(|listing| {
        let changes = Changes::between(known.as_deref(), &listing);
        let is_news =
            known.is_none_or(|known| changes.any() && listing.listed_at > known.listed_at);
        is_news.then_some((listing, changes))
    }))
}
