//! Calls, errors, latency and tokens of the last day by hour.
//!
//! Calls are counted in the audit, so a restart loses nothing. An hour that has passed is counted
//! once. Tokens of lists are counted in memory, since the start.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use kitbag_domain::{Caller, Timestamp};
use kitbag_store::{CallCounts, Error, Store};
use kitbag_telemetry::figures::{ListFigures, hour_of};
use serde::{Deserialize, Serialize};

use super::App;
use crate::state::clock::now;

const HOURS: i64 = 24;
const HOUR_MS: i64 = 3_600_000;
/// The rows of calls are written within seconds after their end, and may be delayed by a busy disk.
const ROWS_ARRIVE_WITHIN_MS: i64 = 5 * 60_000;
/// The current hour is counted again after this many times the duration of the last count, so that
/// an open page takes at most this share of one core.
const REST: u32 = 20;

/// One hour; tokens are estimates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HourOfUse {
    pub start: Timestamp,
    pub calls: u64,
    pub failed: u64,
    /// Denied and invalid calls.
    pub rejected: u64,
    pub p50_latency_ms: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    /// Tokens of lists shown to clients, and of answers.
    pub tokens_spent: u64,
    /// Tokens of the tools that clients were not shown.
    pub tokens_saved: u64,
}

/// The last hours, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UseHistory {
    pub hours: Vec<HourOfUse>,
    /// All hours together.
    pub total: HourOfUse,
    /// False if hours are still being counted.
    pub complete: bool,
    /// Since when the tokens of lists are counted.
    pub lists_since: Timestamp,
}

/// The counted hours, by hour since the Unix epoch.
#[derive(Debug, Default)]
pub(super) struct CountedHours {
    hours: Mutex<BTreeMap<i64, CountedHour>>,
    /// Held by the one task that counts.
    counting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct CountedHour {
    counts: CallCounts,
    is_final: bool,
    counted: Instant,
    took: Duration,
}

impl App {
    /// Returns the history, after this time at the latest. Hours that take longer are counted in
    /// the background.
    pub async fn use_history(&self, patience: Duration) -> UseHistory {
        let gateway = self.host.gateway();
        let (counted, store) = (self.counted_hours.clone(), gateway.services.store.clone());
        let current = hour_of(now());
        let refreshing = tokio::spawn(async move { counted.refresh(&store, current).await });
        let complete = match tokio::time::timeout(patience, refreshing).await {
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, "cannot count the calls of the last hours");
                false
            }
            refreshed => matches!(refreshed, Ok(Ok(Ok(())))),
        };
        let usage = gateway
            .services
            .meter
            .figures_for(&Caller::local(), |_, _| true);
        let mut lists: HashMap<i64, ListFigures> = HashMap::new();
        for ((_, hour), listed) in &usage.hours {
            lists.entry(*hour).or_default().add(*listed);
        }
        UseHistory::new(
            current,
            &lock(&self.counted_hours.hours),
            &lists,
            complete,
            self.since,
        )
    }
}

impl App {
    /// Returns the number of hours that are counted so far.
    pub fn counted_hours(&self) -> usize {
        lock(&self.counted_hours.hours).len()
    }
}

impl CountedHours {
    async fn refresh(&self, store: &Store, current: i64) -> Result<(), Error> {
        let _alone = self.counting.lock().await;
        lock(&self.hours).retain(|hour, _| *hour > current - HOURS);
        for hour in (current - HOURS + 1..=current).rev() {
            let is_current = lock(&self.hours)
                .get(&hour)
                .is_some_and(CountedHour::is_fresh);
            if !is_current {
                let counted = CountedHour::count(store, hour).await?;
                lock(&self.hours).insert(hour, counted);
            }
        }
        Ok(())
    }
}

impl CountedHour {
    async fn count(store: &Store, hour: i64) -> Result<Self, Error> {
        let (started, start) = (Instant::now(), hour * HOUR_MS);
        let is_final = now().0 > start + HOUR_MS + ROWS_ARRIVE_WITHIN_MS;
        let (since, until) = (Timestamp(start), Timestamp(start + HOUR_MS));
        Ok(Self {
            counts: store.count_calls(since, until).await?,
            is_final,
            counted: Instant::now(),
            took: started.elapsed(),
        })
    }

    fn is_fresh(&self) -> bool {
        self.is_final || self.counted.elapsed() < self.took * REST
    }
}

impl UseHistory {
    fn new(
        current: i64,
        counted: &BTreeMap<i64, CountedHour>,
        lists: &HashMap<i64, ListFigures>,
        complete: bool,
        lists_since: Timestamp,
    ) -> Self {
        let (none, mut all_calls, mut all_lists) = (
            CallCounts::default(),
            CallCounts::default(),
            ListFigures::default(),
        );
        let hours = (current - HOURS + 1..=current).map(|hour| {
            let counts = counted.get(&hour).map_or(&none, |it| &it.counts);
            let listed = lists.get(&hour).copied().unwrap_or_default();
            all_calls.add_all(counts);
            all_lists.add(listed);
            HourOfUse::new(hour, counts, listed)
        });
        let hours = hours.collect();
        Self {
            hours,
            total: HourOfUse::new(current - HOURS + 1, &all_calls, all_lists),
            complete,
            lists_since,
        }
    }
}

impl HourOfUse {
    fn new(hour: i64, counts: &CallCounts, listed: ListFigures) -> Self {
        let latency = |share| counts.latencies.quantile(share).map(to_milliseconds);
        Self {
            start: Timestamp(hour * HOUR_MS),
            calls: counts.calls(),
            failed: counts.failed,
            rejected: counts.rejected,
            p50_latency_ms: latency(0.5),
            p95_latency_ms: latency(0.95),
            tokens_spent: counts.tokens + listed.shown,
            tokens_saved: listed.saved,
        }
    }
}

fn to_milliseconds(latency: Duration) -> f64 {
    (latency.as_secs_f64() * 100_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hour_of_the_day_has_a_row_and_the_total_adds_them_up() {
        let counts = |succeeded, failed| CallCounts {
            succeeded,
            failed,
            tokens: 5,
            ..CallCounts::default()
        };
        let hour = |counts| CountedHour {
            counts,
            is_final: true,
            counted: Instant::now(),
            took: Duration::ZERO,
        };
        let counted = BTreeMap::from([(77, hour(counts(2, 1))), (100, hour(counts(4, 0)))]);
        let lists = HashMap::from([(100, ListFigures::for_list(10, 90))]);
        let history = UseHistory::new(100, &counted, &lists, true, Timestamp(0));
        assert_eq!(history.hours.len(), 24);
        let of = |it: &HourOfUse| (it.calls, it.failed, it.tokens_spent, it.tokens_saved);
        assert_eq!(of(&history.hours[0]), (3, 1, 5, 0));
        assert_eq!(of(&history.hours[23]), (4, 0, 15, 80));
        assert_eq!(of(&history.total), (7, 1, 20, 80));
    }
}
