//! The curve of searches that clients need for one successful call, by day: what learning is for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::Timestamp;
use kitbag_domain::sync::lock;
use kitbag_store::{Error, SearchCounts, Store};
use serde::Serialize;

const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;

/// The searches and successful calls of one day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SearchDay {
    /// In days since 1970.
    #[serde(skip)]
    number: i64,
    pub searches: u64,
    pub calls: u64,
}

/// Days that are over do not change, so they are counted once. Today is counted once a minute.
#[derive(Debug, Default)]
pub struct SearchCurve {
    finished: Mutex<BTreeMap<i64, SearchCounts>>,
    today: Mutex<Option<CountedToday>>,
    is_counting: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
struct CountedToday {
    number: i64,
    counted_at: Timestamp,
    counts: SearchCounts,
}

/// The last days, and whether all of them are counted.
#[derive(Debug)]
pub struct CountedDays {
    /// The oldest first.
    pub days: Vec<SearchDay>,
    pub is_complete: bool,
}

impl SearchCurve {
    /// Counts the last days, from today back, until the time is over. What was counted is there at
    /// the next call.
    pub async fn count_days(
        &self,
        store: &Store,
        days: u32,
        now: Timestamp,
        time: Duration,
    ) -> Result<CountedDays, Error> {
        let (started, today) = (Instant::now(), now.0.div_euclid(DAY));
        let mut counted = Vec::new();
        for number in (0..i64::from(days)).map(|back| today - back) {
            let counts = match self.known_counts(number, now) {
                Some(known) => known,
                None if started.elapsed() > time => break,
                None => self.count_day(store, number, now).await?,
            };
            counted.push(SearchDay {
                number,
                searches: counts.searches,
                calls: counts.calls,
            });
        }
        counted.reverse();
        Ok(CountedDays {
            is_complete: counted.len() == days as usize,
            days: counted,
        })
    }

    /// Counts all of these days in the background, unless this is being done.
    pub fn count_in_background(self: &Arc<Self>, store: &Store, days: u32, now: Timestamp) {
        if self.is_counting.swap(true, Ordering::Relaxed) {
            return;
        }
        let (curve, store) = (self.clone(), store.clone());
        tokio::spawn(async move {
            if let Err(error) = curve.count_days(&store, days, now, Duration::MAX).await {
                tracing::warn!(%error, "failed to count searches by day");
            }
            curve.is_counting.store(false, Ordering::Relaxed);
        });
    }

    fn known_counts(&self, number: i64, now: Timestamp) -> Option<SearchCounts> {
        let is_recent =
            |today: &CountedToday| today.number == number && now.0 - today.counted_at.0 < MINUTE;
        let today = lock(&self.today).filter(is_recent).map(|it| it.counts);
        today.or_else(|| lock(&self.finished).get(&number).copied())
    }

    async fn count_day(
        &self,
        store: &Store,
        number: i64,
        now: Timestamp,
    ) -> Result<SearchCounts, Error> {
        let [since, until] = [number, number + 1].map(|day| Timestamp(day * DAY));
        let counts = store.search_counts(since, until).await?;
        if until <= now {
            lock(&self.finished).insert(number, counts);
        } else {
            let counted_at = now;
            *lock(&self.today) = Some(CountedToday {
                number,
                counted_at,
                counts,
            });
        }
        Ok(counts)
    }
}

impl SearchDay {
    pub fn start(&self) -> Timestamp {
        Timestamp(self.number * DAY)
    }

    /// The searches for each successful call; `None` without calls.
    pub fn searches_per_call(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.searches as f64 / self.calls as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_without_calls_has_no_ratio() {
        let day = SearchDay {
            number: 20_000,
            searches: 3,
            calls: 0,
        };
        assert_eq!(day.searches_per_call(), None);
        assert_eq!(SearchDay { calls: 2, ..day }.searches_per_call(), Some(1.5));
    }
}
