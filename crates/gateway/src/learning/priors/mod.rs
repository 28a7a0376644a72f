//! Computes the priors of tools from the audit, and stores them: never while a client waits.
//!
//! A run counts the rows written since the previous run, so it does not matter how often it is
//! started. The index reads the result.
//!
//! # Layout
//! - this file: a run over the audit
//! - `track`: the record of one tool
//! - [`overdue`]: the age at which priors are overdue
//!
//! `priors_schedule` has the scheduled runs of a serving gateway, and `priors_report` the priors as
//! printed.

pub mod overdue;
pub(crate) mod track;

use std::collections::HashMap;

use kitbag_domain::{Capability, Timestamp};
use kitbag_store::{AuditSpan, Error, PriorsRun, Store, StoredPrior};
use serde::Serialize;

use self::track::ToolTrack;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PriorsSummary {
    /// The number of tools with priors.
    pub tools: usize,
    /// The number of newly counted calls.
    pub calls: u64,
    #[serde(skip)]
    pub(crate) counted_at: Timestamp,
}

const DAY: i64 = 86_400_000;
/// Earlier calls count for a hundredth, so a gateway that was off for long does not read them.
const MOST_DAYS: i64 = 7;

/// Counts the calls since the last run, and stores the result for the tools that are `known`. Only
/// one process may call this at a time.
pub(crate) async fn count_new_calls(
    store: &Store,
    namespace: &str,
    known: impl Fn(&Capability) -> bool,
    now: Timestamp,
) -> Result<PriorsSummary, Error> {
    let last = store.priors_run(namespace).await?;
    let mut tracks = load_tracks(store, namespace).await?;
    if let Some(last) = last {
        let passed = (now.0 - last.counted_at.0).max(0) as f64 / DAY as f64;
        tracks.values_mut().for_each(|it| it.track.fade(passed));
    }
    let run = PriorsRun {
        counted_to: store.newest_audit_row_id().await?,
        counted_at: now,
    };
    let mut calls = 0;
    for (span, days_ago) in uncounted_spans(store, last, run).await? {
        for (tool, seen) in store.tool_statistics(&span).await? {
            if !known(&tool) {
                continue;
            }
            calls += seen.calls;
            let stored = tracks.entry(tool).or_default();
            stored.track.add_calls(&seen, days_ago);
            stored.updated_at = now;
        }
    }
    tracks.values_mut().for_each(|it| it.track.limit_calls());
    tracks.retain(|tool, it| known(tool) && !it.track.is_forgotten());
    let rows: Vec<StoredPrior> = tracks.into_iter().map(to_stored).collect();
    store.replace_priors(namespace, run, &rows).await?;
    Ok(PriorsSummary {
        tools: rows.len(),
        calls,
        counted_at: now,
    })
}

/// A tool's record, and the last run in which calls of it were counted.
#[derive(Debug, Default, Clone)]
pub(crate) struct StoredTrack {
    pub(crate) track: ToolTrack,
    pub(crate) updated_at: Timestamp,
}

/// Returns the result of the last run.
pub(crate) async fn load_tracks(
    store: &Store,
    namespace: &str,
) -> Result<HashMap<Capability, StoredTrack>, Error> {
    let rows = store.priors(namespace).await?;
    Ok(rows.into_iter().filter_map(from_stored).collect())
}

/// An unreadable row was written by another version, and is counted again.
fn from_stored(row: StoredPrior) -> Option<(Capability, StoredTrack)> {
    let stored = StoredTrack {
        track: serde_json::from_str(&row.body).ok()?,
        updated_at: row.updated_at,
    };
    Some((Capability::tool(row.server, row.name), stored))
}

fn to_stored((tool, stored): (Capability, StoredTrack)) -> StoredPrior {
    StoredPrior {
        server: tool.server,
        name: tool.name,
        body: serde_json::to_string(&stored.track).expect("a track is plain JSON"),
        updated_at: stored.updated_at,
    }
}

/// Returns the days that are not counted yet, each with the number of days since its end. The last
/// one is open, because the clocks of several gateways differ.
async fn uncounted_spans(
    store: &Store,
    last: Option<PriorsRun>,
    run: PriorsRun,
) -> Result<Vec<(AuditSpan, f64)>, Error> {
    let now = run.counted_at.0;
    // Ids restart in a store that has lost all rows.
    let last = last.filter(|last| last.counted_to <= run.counted_to);
    let (days, after) = match last {
        Some(last) => (
            ((now - last.counted_at.0) / DAY + 1).clamp(1, MOST_DAYS),
            last.counted_to,
        ),
        None => {
            let first = store
                .first_audit_row_id(Timestamp(now - MOST_DAYS * DAY))
                .await?;
            (MOST_DAYS, first.map_or(run.counted_to, |first| first - 1))
        }
    };
    Ok((0..days).map(|day| day_span(run, after, day)).collect())
}

fn day_span(run: PriorsRun, after: i64, day: i64) -> (AuditSpan, f64) {
    let now = run.counted_at.0;
    let until = if day == 0 { i64::MAX } else { now - day * DAY };
    let span = AuditSpan {
        after,
        up_to: run.counted_to,
        since: Timestamp(now - (day + 1) * DAY),
        until: Timestamp(until),
    };
    (span, day as f64)
}

#[cfg(test)]
mod tests;
