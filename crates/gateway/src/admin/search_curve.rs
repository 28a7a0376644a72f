//! The curve of searches that clients need for one successful call, by day: what learning is for.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::Timestamp;
use kitbag_domain::sync::lock;
use kitbag_store::{Error, SearchCounts, Store};
use serde::Serialize;

const DAY: i64 = 86_400_000;

/// The searches and successful calls of one day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SearchDay {
    /// In days since 1970.
    #[serde(skip)]
    number: i64,
    pub searches: u64,
    pub calls: u64,
}

/// Days that are over do not change, so they are counted once.
#[derive(Debug, Default)]
pub struct SearchCurve(Mutex<BTreeMap<i64, SearchCounts>>);

/// The last days, and whether all of them are counted.
#[derive(Debug)]
pub struct CountedDays {
    /// The oldest first.
    pub days: Vec<SearchDay>,
    pub is_complete: bool,
}

impl SearchCurve {
    /// Counts the last days, from today back, until the time is over. What is counted is there at
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
            let known = lock(&self.0).get(&number).copied();
            let counts = match known {
                Some(known) => known,
                None if started.elapsed() > time && number != today => break,
                None => self.count_day(store, number, today).await?,
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

    async fn count_day(
        &self,
        store: &Store,
        number: i64,
        today: i64,
    ) -> Result<SearchCounts, Error> {
        let [since, until] = [number, number + 1].map(|day| Timestamp(day * DAY));
        let counts = store.search_counts(since, until).await?;
        if number < today {
            lock(&self.0).insert(number, counts);
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
