//! Reloads tool files that were added, changed or removed while the gateway runs.

use std::sync::Arc;
use std::time::Duration;

use crate::catalog::tool_files::tool_files_server;
use crate::front::announce::{ListChanges, announce_changes};
use crate::state::host::GatewayHost;

/// The interval at which the directories are polled: one call of `stat` for each file.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Polls the directories until the gateway closes.
pub async fn follow_tool_files(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        reload_tool_files(&host).await;
    }
}

/// Reloads changed tool files, and announces the new list of tools to clients.
pub(crate) async fn reload_tool_files(host: &Arc<GatewayHost>) {
    let gateway = host.gateway();
    let reloading = gateway.clone();
    let changed = tokio::task::spawn_blocking(move || {
        let credentials = reloading.services.credentials.names();
        reloading.tool_files.refresh(&credentials)
    });
    if changed.await.unwrap_or(false) {
        tracing::info!("tool files or their credentials have changed");
        host.rebuild_catalog().await;
        announce_changes(&gateway, &tool_files_server(), ListChanges::tools_only());
    }
}
