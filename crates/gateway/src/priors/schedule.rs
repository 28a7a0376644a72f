//! The runs of a gateway that serves: at the times of the schedule, and at the start if one was
//! missed meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kitbag_config::CronSchedule;
use kitbag_domain::{Capability, Timestamp};
use kitbag_store::Error;

use super::{PriorsSummary, count};
use crate::clock::now;
use crate::gateway::Gateway;
use crate::host::GatewayHost;

/// The interval at which it is looked whether a run is due: schedules are written in minutes.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The time after which a run that failed is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(600);
/// The longest time that the index may take to show what a run found.
const INDEXED_WITHIN: Duration = Duration::from_secs(1800);
/// Priors of last night are a day old at most, and a run may take its time.
const FRESH_FOR: i64 = 26 * 3_600_000;
/// The time after which a run that was due and did not happen is overdue.
const GRACE: i64 = 2 * 3_600_000;

#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the index did not take over the priors within {INDEXED_WITHIN:?}")]
    NotIndexed,
}

/// Runs when it is time, until the gateway closes.
pub async fn follow(host: Arc<GatewayHost>) {
    let started = now();
    let mut at_start = true;
    loop {
        let done = run_if_due(&host, started, at_start).await;
        at_start = false;
        let pause = match done {
            Ok(()) => LOOK_EVERY,
            Err(error) => {
                tracing::warn!(%error, "the priors of tools could not be computed; it is tried again");
                TRY_AGAIN
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
    let summary = run(&gateway, &namespace).await?;
    host.catalog_changed.notify_one();
    let indexed = index.shows_priors_of(summary.counted_at);
    let indexed = tokio::time::timeout(INDEXED_WITHIN, indexed).await;
    indexed.map_err(|_| RunError::NotIndexed)?;
    let PriorsSummary { tools, calls, .. } = summary;
    index.priors_are_updated(summary.counted_at).await?;
    tracing::info!(tools, calls, "the priors of tools are up to date");
    Ok(())
}

/// Counts the calls that no run has counted yet. The caller holds the lock of the priors.
pub(crate) async fn run(gateway: &Gateway, namespace: &str) -> Result<PriorsSummary, Error> {
    let (store, catalog) = (&gateway.services.store, gateway.catalog());
    gateway.services.audit.flush().await;
    let unlisted = gateway.unlisted();
    let listed: HashSet<&Capability> = catalog.tools.iter().map(|it| &it.capability).collect();
    let known = |tool: &Capability| listed.contains(tool) || unlisted.contains(&tool.server);
    count(store, namespace, known, now()).await
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
        let first = gateway.services.store.first_audit_row(Timestamp(0)).await?;
        return Ok(first.is_some());
    }
    let next = schedule.next_after(last.unwrap_or(started));
    Ok(next.is_some_and(|next| next <= now()))
}

/// The age of priors that should have been computed again by now. Where none ever were, it counts
/// from `begun`.
pub fn overdue(
    schedule: Option<&CronSchedule>,
    last: Option<Timestamp>,
    begun: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    let since = last.unwrap_or(begun);
    let next = schedule?.next_after(since)?;
    let age = now.0 - since.0;
    let is_late = age > FRESH_FOR && now.0 > next.0 + GRACE;
    is_late.then(|| Duration::from_millis(age.unsigned_abs()))
}

/// Says in words that priors are as old as this.
pub fn stale(age: Duration) -> String {
    let hours = age.as_secs() / 3_600;
    format!("the priors of tools were last computed {hours} hours ago")
}

#[cfg(test)]
mod tests {
    use kitbag_config::{Overrides, Surroundings, parse};

    use super::*;

    #[test]
    fn priors_are_overdue_after_26_hours_and_those_of_a_new_gateway_as_well() {
        let around = Surroundings {
            home: Some("/home/ann".into()),
            ..Surroundings::default()
        };
        let schedule = |text: &str| {
            let text = format!("[priors]\nschedule = '{text}'");
            let config = parse(&text, None, &Overrides::default(), &around).unwrap();
            config.priors.schedule
        };
        const HOUR: i64 = 3_600_000;
        // The first moment of 1970 is a Thursday, at midnight.
        let check = |text: &str, last: Option<i64>, now: i64, expected: bool| {
            let at = |hour: i64| Timestamp(hour * HOUR);
            let found = overdue(schedule(text).as_ref(), last.map(at), at(0), at(now));
            assert_eq!(found.is_some(), expected, "{text}, {last:?}, {now}");
        };
        check("0 3 * * * UTC", Some(3), 29, false);
        check("0 3 * * * UTC", Some(3), 30, true);
        check("0 3 * * * UTC", None, 26, false);
        check("0 3 * * * UTC", None, 27, true);
        check("0 3 * * 1 UTC", Some(3), 90, false);
        check("0 3 * * 1 UTC", Some(3), 102, true);
        check("never", Some(3), 1000, false);
        assert_eq!(
            stale(Duration::from_secs(30 * 3_600)),
            "the priors of tools were last computed 30 hours ago"
        );
    }
}
