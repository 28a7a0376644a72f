//! The limits that an API sets on each tenant: by declaration, and by the headers of its answers.

mod limits;

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use kitbag_domain::sync::lock;

use crate::auth::CredentialOwner;

const MINUTE: Duration = Duration::from_secs(60);
/// An API that means longer will repeat it after this time; a wrong header does not lock a tenant
/// out for days.
const MAX_CLOSURE: Duration = Duration::from_secs(3600);
/// Above this number, tenants without a wait are evicted.
const CLEANUP_THRESHOLD: usize = 1024;

/// The pace of every tenant at one API.
pub(crate) struct Paces {
    per_minute: Option<NonZeroU32>,
    tenants: Mutex<HashMap<CredentialOwner, Pace>>,
}

#[derive(Default)]
struct Pace {
    /// The API reported that no requests remain until then.
    closed_until: Option<SystemTime>,
    /// The times of the last requests, some of them in the future.
    booked: VecDeque<SystemTime>,
}

/// A request that would have to wait longer than its caller does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooEarly {
    pub(crate) wait: Duration,
}

impl Paces {
    pub(crate) fn new(per_minute: Option<NonZeroU32>) -> Self {
        Self {
            per_minute,
            tenants: Mutex::default(),
        }
    }

    /// Reserves a slot for a request, and returns the time until it may be sent.
    pub(crate) fn reserve(
        &self,
        owner: &CredentialOwner,
        now: SystemTime,
        longest: Duration,
    ) -> Result<Duration, TooEarly> {
        let mut tenants = lock(&self.tenants);
        if tenants.len() >= CLEANUP_THRESHOLD {
            tenants.retain(|_, pace| pace.is_limited(now));
        }
        let pace = tenants.entry(owner.clone()).or_default();
        let at = pace.next_time(self.per_minute, now);
        let wait = at.duration_since(now).unwrap_or_default();
        if wait > longest {
            return Err(TooEarly { wait });
        }
        pace.reserve(at, self.per_minute);
        Ok(wait)
    }

    /// Returns how long a request would currently be delayed.
    pub(crate) fn current_wait(&self, owner: &CredentialOwner, now: SystemTime) -> Duration {
        let tenants = lock(&self.tenants);
        let pace = tenants.get(owner);
        let at = pace.map_or(now, |pace| pace.next_time(self.per_minute, now));
        at.duration_since(now).unwrap_or_default()
    }

    /// Delays the tenant's further requests if an answer reports that no requests remain.
    pub(crate) fn record_limits(
        &self,
        owner: &CredentialOwner,
        now: SystemTime,
        status: StatusCode,
        headers: &HeaderMap,
    ) {
        let Some(wait) = limits::closed_duration(status, headers, now) else {
            return;
        };
        let mut tenants = lock(&self.tenants);
        let pace = tenants.entry(owner.clone()).or_default();
        pace.closed_until = now.checked_add(wait.min(MAX_CLOSURE));
    }
}

impl Pace {
    fn next_time(&self, per_minute: Option<NonZeroU32>, now: SystemTime) -> SystemTime {
        let opens = self.closed_until.unwrap_or(now);
        let oldest = per_minute.and_then(|most| {
            let most = most.get() as usize;
            self.booked.get(self.booked.len().checked_sub(most)?)
        });
        let free = oldest.map_or(now, |at| *at + MINUTE);
        now.max(opens).max(free)
    }

    fn reserve(&mut self, at: SystemTime, per_minute: Option<NonZeroU32>) {
        let Some(most) = per_minute else {
            return;
        };
        self.booked.push_back(at);
        while self.booked.len() > most.get() as usize {
            self.booked.pop_front();
        }
    }

    fn is_limited(&self, now: SystemTime) -> bool {
        let last = self.booked.back().map(|at| *at + MINUTE);
        last.max(self.closed_until).is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn waits(paces: &Paces, who: &str, now: SystemTime, longest: Duration) -> Result<u64, u64> {
        let booked = paces.reserve(&CredentialOwner::new(who), now, longest);
        booked
            .map(|wait| wait.as_secs())
            .map_err(|early| early.wait.as_secs())
    }

    #[test]
    fn excess_requests_per_minute_are_delayed_for_each_tenant() {
        let paces = Paces::new(NonZeroU32::new(2));
        let start = SystemTime::UNIX_EPOCH;
        let later = start + seconds(20);
        assert_eq!(waits(&paces, "a", start, LONG), Ok(0));
        assert_eq!(waits(&paces, "a", later, LONG), Ok(0));
        assert_eq!(
            waits(&paces, "a", later, LONG),
            Ok(40),
            "a minute after the first"
        );
        assert_eq!(waits(&paces, "a", later, LONG), Ok(60));
        assert_eq!(waits(&paces, "a", later, seconds(30)), Err(100));
        assert_eq!(waits(&paces, "b", later, LONG), Ok(0), "another tenant");
        assert_eq!(waits(&paces, "a", start + seconds(200), LONG), Ok(0));
    }

    #[test]
    fn a_tenant_without_remaining_requests_waits_for_the_reset_or_gets_its_time() {
        let paces = Paces::new(None);
        let (start, owner) = (SystemTime::UNIX_EPOCH, CredentialOwner::new("a"));
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("retry-after"),
            http::HeaderValue::from_static("30"),
        )]);
        paces.record_limits(&owner, start, StatusCode::TOO_MANY_REQUESTS, &headers);
        assert_eq!(paces.current_wait(&owner, start + seconds(10)), seconds(20));
        assert_eq!(waits(&paces, "a", start + seconds(10), LONG), Ok(20));
        assert_eq!(waits(&paces, "a", start, seconds(5)), Err(30));
        assert_eq!(waits(&paces, "a", start + seconds(31), LONG), Ok(0));
        assert_eq!(waits(&paces, "b", start, LONG), Ok(0));
    }
}
