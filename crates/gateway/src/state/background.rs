//! Background tasks: rebuild the index when the catalog changes, delete old audit rows and lessons,
//! close sessions of revoked keys, expire idle sessions, retry servers that could not be listed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_domain::Remedy as _;
use kitbag_domain::{ExposedName, KeyId, ServerName, Timestamp};
use tokio::task::JoinHandle;

use crate::catalog::list_servers::{log_listing_failure, refresh_listing};
use crate::catalog::overrides;
use crate::front::announce::ListChanges;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;

const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);
/// The interval at which the index is checked against the latest calls.
const INDEX_CHECK_INTERVAL: Duration = Duration::from_secs(300);
/// The time after which a failed embedder is retried.
const EMBEDDER_RETRY_DELAY: Duration = Duration::from_secs(30);
/// The interval at which the progress of a long computation is logged.
const PROGRESS_LOG_INTERVAL: Duration = Duration::from_secs(2);
const RETENTION_INTERVAL: Duration = Duration::from_secs(3600);
/// The time within which sessions and streams end after their key was revoked or has expired. Keys
/// are revoked by other processes, so the store has to be polled.
const REVOKED_KEYS_INTERVAL: Duration = Duration::from_millis(500);
/// The time within which `kitbag key list` shows that a key was used.
const KEY_USES_INTERVAL: Duration = Duration::from_secs(5);
const BATCH_PAUSE: Duration = Duration::from_millis(100);
const DELETE_BATCH_ROWS: u32 = 1_000;

/// Rebuilds the index whenever the catalog or the results of calls have changed, until the gateway
/// closes.
pub async fn follow_catalog(host: Arc<GatewayHost>) {
    let mut wait = INDEX_CHECK_INTERVAL;
    loop {
        tokio::select! {
            () = host.catalog_changed.notified() => {}
            () = tokio::time::sleep(wait) => if !host.gateway().services.index.is_outdated().await { continue },
        }
        wait = if update_index(&host).await {
            INDEX_CHECK_INTERVAL
        } else {
            EMBEDDER_RETRY_DELAY
        };
    }
}

/// Brings the index up to date. Returns false if embedding failed and has to be retried.
async fn update_index(host: &GatewayHost) -> bool {
    let gateway = host.gateway();
    let catalog = gateway.catalog();
    let overtaken = || !Arc::ptr_eq(&catalog, &host.gateway().catalog());
    let mut last_logged = Instant::now();
    let progress = |done: usize, total: usize| {
        if done < total && last_logged.elapsed() >= PROGRESS_LOG_INTERVAL {
            last_logged = Instant::now();
            tracing::info!(done, total, "embedding texts");
        }
    };
    let unlisted = gateway.unlisted_servers();
    let contents = gateway.index_contents(&catalog, &unlisted);
    if let Err(error) = gateway
        .services
        .index
        .rebuild(&contents, overtaken, progress)
        .await
    {
        tracing::warn!(%error, remedy = error.remedy(), "embedding failed; tools without vectors are found by keywords only");
        return false;
    }
    if overtaken() {
        return true;
    }
    let snapshot = gateway.services.index.snapshot();
    let (tools, embedded) = snapshot.count_served();
    tracing::info!(tools, embedded, "the index is up to date");
    if gateway.unlisted_servers().is_empty() {
        gateway.services.index.forget_unused().await;
    }
    true
}

/// Deletes audit rows older than `keep_days`, in batches small enough not to slow down
/// requests.
pub async fn delete_old_audit_rows(host: Arc<GatewayHost>) {
    loop {
        let gateway = host.gateway();
        let before = Timestamp(
            now()
                .0
                .saturating_sub_unsigned(gateway.audit_settings.retention.as_millis() as u64),
        );
        let pause = match gateway
            .services
            .store
            .delete_audit_rows(before, DELETE_BATCH_ROWS)
            .await
        {
            Ok(removed) if removed == u64::from(DELETE_BATCH_ROWS) => BATCH_PAUSE,
            Ok(_) => RETENTION_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "failed to delete old audit rows");
                RETENTION_INTERVAL
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Recomputes, once at the start, lessons that were learned with another embedding model, and
/// deletes expired lessons at intervals.
pub async fn expire_lessons(host: Arc<GatewayHost>) {
    host.gateway()
        .services
        .learner
        .recompute_stale_lessons()
        .await;
    loop {
        let gateway = host.gateway();
        let learner = &gateway.services.learner;
        learner.forget_older_than(gateway.learning.retention).await;
        tokio::time::sleep(RETENTION_INTERVAL).await;
    }
}

/// Closes the sessions and streams of keys that were revoked or have expired.
pub async fn close_revoked_keys(host: Arc<GatewayHost>) {
    let mut outage = Outage::new("checking for revoked keys failed");
    loop {
        tokio::time::sleep(REVOKED_KEYS_INTERVAL).await;
        let gateway = host.gateway();
        let mut in_use = gateway.services.sessions.keys();
        in_use.extend(gateway.services.key_requests.keys());
        in_use.extend(gateway.services.parking.caller_keys());
        if in_use.is_empty() {
            continue;
        }
        let in_use: Vec<KeyId> = in_use.into_iter().collect();
        match gateway.services.store.inactive_keys(&in_use, now()).await {
            Ok(ended) => {
                outage.record_success();
                close_sessions_of_keys(&gateway, &ended).await;
            }
            Err(error) => outage.record_failure(&error),
        }
    }
}

async fn close_sessions_of_keys(gateway: &Gateway, ended: &[KeyId]) {
    if ended.is_empty() {
        return;
    }
    let named: Vec<_> = ended.iter().map(ToString::to_string).collect();
    tracing::info!(
        keys = named.join(", "),
        "closing the sessions and streams of revoked or expired keys"
    );
    gateway.services.key_requests.cancel_for_keys(ended);
    gateway.services.parking.drop_calls_of_keys(ended);
    for session in gateway.services.sessions.close_for_keys(ended) {
        session.stop_watching().await;
    }
}

/// Records at intervals when keys were last used, so that requests need not wait for it.
pub async fn record_key_uses(host: Arc<GatewayHost>) {
    let mut outage = Outage::new(USES_NOT_WRITTEN);
    loop {
        tokio::time::sleep(KEY_USES_INTERVAL).await;
        match host.gateway().services.store.flush_key_uses().await {
            Ok(()) => outage.record_success(),
            Err(error) => outage.record_failure(&error),
        }
    }
}

const USES_NOT_WRITTEN: &str = "recording when keys were last used failed";

pub(crate) async fn record_key_uses_now(gateway: &Gateway) {
    if let Err(error) = gateway.services.store.flush_key_uses().await {
        tracing::warn!(%error, "{USES_NOT_WRITTEN}");
    }
}

/// Logs once that repeated work fails, and once that it succeeds again.
struct Outage {
    what: &'static str,
    is_ongoing: bool,
}

impl Outage {
    fn new(what: &'static str) -> Self {
        Self {
            what,
            is_ongoing: false,
        }
    }

    fn record_failure(&mut self, error: &kitbag_store::Error) {
        if !std::mem::replace(&mut self.is_ongoing, true) {
            tracing::warn!(%error, "{}; trying again", self.what);
        }
    }

    fn record_success(&mut self) {
        if std::mem::take(&mut self.is_ongoing) {
            tracing::info!("the store is available again");
        }
    }
}

/// Warns of `[tools]` entries for tools that no server offers, except tools of servers that have
/// not been listed yet.
pub(crate) fn warn_about_unknown_tools(gateway: &Gateway) {
    let was_listed = |name: &str| {
        let server =
            ExposedName::server_in(name).and_then(|server| gateway.upstreams.get(&server).cloned());
        server.is_none_or(|server| server.listing().is_some())
    };
    let catalog = gateway.catalog();
    let unknown = gateway
        .overrides
        .keys()
        .filter(|name| !catalog.knows_tool(name));
    for tool in unknown.filter(|name| was_listed(name)) {
        tracing::warn!(
            tool,
            "the configuration has a [tools] entry for a tool that no server offers"
        );
    }
    for (tool, problem) in overrides::find_override_problems(gateway, &catalog) {
        tracing::warn!(tool, "the override does not match the tool: {problem}");
    }
}

/// At intervals, expires idle sessions and retries servers that could not be listed so far.
pub(crate) async fn run_housekeeping(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(HOUSEKEEPING_INTERVAL).await;
        let gateway = host.gateway();
        for server in gateway
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none())
        {
            relist_server(&host, server.name(), ListChanges::default());
        }
        for session in gateway.services.sessions.expire_idle_sessions() {
            session.stop_watching().await;
        }
    }
}

/// Lists a server again in a separate task, if its lists have changed or are stale.
pub(crate) fn relist_server(
    host: &Arc<GatewayHost>,
    name: &ServerName,
    changes: ListChanges,
) -> Option<JoinHandle<()>> {
    let server = host.gateway().upstreams.get(name).cloned()?;
    if !changes.has_any() && !server.is_stale() {
        return None;
    }
    let host = host.clone();
    Some(tokio::spawn(async move {
        log_listing_failure(&server, refresh_listing(&host, &server, changes).await);
    }))
}
