//! Notices files that came, changed or went while the gateway runs.

use std::sync::Arc;
use std::time::Duration;

use crate::catalog::tool_files::server;
use crate::front::announce::{Changes, announce_changes};
use crate::state::host::GatewayHost;

/// The interval at which the directories are looked at: one call of `stat` for each file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Follows the directories until the gateway closes.
pub async fn follow(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        look(&host).await;
    }
}

/// Takes over what has changed, and tells the clients.
pub(crate) async fn look(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    let looking = gateway.clone();
    let changed = tokio::task::spawn_blocking(move || {
        let credentials = looking.services.credentials.names();
        looking.tool_files.refresh(&credentials)
    });
    if changed.await.unwrap_or(false) {
        tracing::info!("tool files or their credentials have changed");
        host.rebuild_catalog().await;
        announce_changes(&gateway, &server(), Changes::of_tools());
    }
}
