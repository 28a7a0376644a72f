//! Scheduled runs in a serving gateway, including one at the start if a run was missed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kitbag_config::CronSchedule;
use kitbag_domain::{Capability, Timestamp};
use kitbag_store::Error;

use crate::catalog::tool_files::is_model;
use crate::learning::priors::{PriorsSummary, count_new_calls};
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;

/// How often to check whether a run is due. Schedules have a resolution of minutes.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// The time after which a failed run is retried.
const RETRY_DELAY: Duration = Duration::from_secs(600);
/// The longest time that the index may take to publish the result of a run.
const INDEX_TIMEOUT: Duration = Duration::from_secs(1800);

#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the index did not publish the priors within {INDEX_TIMEOUT:?}")]
    NotIndexed,
}

/// Runs on schedule, until the gateway closes.
pub async fn follow_schedule(host: Arc<GatewayHost>) {
    let started = now();
    let mut at_start = true;
    loop {
        let done = run_if_due(&host, started, at_start).await;
        at_start = false;
        let pause = match done {
            Ok(()) => CHECK_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "computing the priors of tools failed; trying again later");
                RETRY_DELAY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn run_if_due(
    host: &GatewayHost,
    started: Timestamp,
    at_start: bool,
) -> Result<(), RunError> {
    let gateway = host.gateway();
    let Some(schedule) = &gateway.priors.schedule else {
        return Ok(());
    };
    if !is_due(&gateway, schedule, started, at_start).await? {
        return Ok(());
    }
    let index = &gateway.services.index;
    let namespace = index.namespace().await?;
    let _alone = gateway.services.store.lock_priors(&namespace).await?;
    // Another gateway may have done it while this one waited.
    if !is_due(&gateway, schedule, started, at_start).await? {
        return Ok(());
    }
    let summary = update_priors(&gateway, &namespace).await?;
    host.catalog_changed.notify_one();
    let indexed = index.wait_for_priors(summary.counted_at);
    let indexed = tokio::time::timeout(INDEX_TIMEOUT, indexed).await;
    indexed.map_err(|_| RunError::NotIndexed)?;
    let PriorsSummary { tools, calls, .. } = summary;
    index.set_priors_updated_at(summary.counted_at).await?;
    tracing::info!(tools, calls, "the priors of tools are up to date");
    Ok(())
}

/// Counts the calls that no run has counted yet. The caller holds the lock of the priors.
pub(crate) async fn update_priors(
    gateway: &Gateway,
    namespace: &str,
) -> Result<PriorsSummary, Error> {
    let (store, catalog) = (&gateway.services.store, gateway.catalog());
    gateway.services.audit.flush().await;
    let unlisted = gateway.unlisted_servers();
    let listed: HashSet<&Capability> = catalog.tools.iter().map(|it| &it.capability).collect();
    let known = |tool: &Capability| {
        listed.contains(tool) || unlisted.contains(&tool.server) || is_model(tool)
    };
    count_new_calls(store, namespace, known, now()).await
}

async fn is_due(
    gateway: &Gateway,
    schedule: &CronSchedule,
    started: Timestamp,
    at_start: bool,
) -> Result<bool, Error> {
    let last = gateway.services.index.read_priors_updated_at().await?;
    if last.is_none() && at_start {
        // Calls of an earlier start have never been counted.
        let first = gateway
            .services
            .store
            .first_audit_row_id(Timestamp(0))
            .await?;
        return Ok(first.is_some());
    }
    let next = schedule.next_after(last.unwrap_or(started));
    Ok(next.is_some_and(|next| next <= now()))
}
