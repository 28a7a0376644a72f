//! The time for which a remote server has asked for no requests.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use kitbag_domain::sync::lock;
use kitbag_fetch::retry_after;
use tokio::time::Instant;

/// A server that needs longer asks again; a mistaken one is not blocked for days.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// The wait for a server that says "too many requests" without a duration.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Pause {
    until: Mutex<Option<(Instant, StatusCode)>>,
}

/// The remaining wait, and the status that it came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedWait {
    pub(crate) status: StatusCode,
    pub(crate) wait: Duration,
}

impl Pause {
    /// Returns the remaining wait.
    pub(crate) fn remaining_wait(&self, now: Instant) -> Option<RequestedWait> {
        let (until, status) = (*lock(&self.until))?;
        let wait = until.saturating_duration_since(now);
        (!wait.is_zero()).then_some(RequestedWait { status, wait })
    }

    /// Returns the wait that an answer asks for. Further requests are delayed until then.
    pub(crate) fn record_retry_after(
        &self,
        now: Instant,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<RequestedWait> {
        let wait = requested_wait(status, headers)?.min(MAX_WAIT);
        let until = now + wait;
        let mut known = lock(&self.until);
        if known.is_none_or(|(before, _)| before < until) {
            *known = Some((until, status));
        }
        Some(RequestedWait { status, wait })
    }

    pub(crate) fn clear(&self) {
        *lock(&self.until) = None;
    }
}

fn requested_wait(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let named = retry_after(headers, SystemTime::now());
    let wait = match status {
        StatusCode::TOO_MANY_REQUESTS => named.unwrap_or(DEFAULT_WAIT),
        StatusCode::SERVICE_UNAVAILABLE => named?,
        _ => return None,
    };
    (!wait.is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use http::header::RETRY_AFTER;

    use super::*;

    #[track_caller]
    fn check(status: u16, named: Option<&str>, expected: Option<u64>) {
        let named = named.map(|text| (RETRY_AFTER, text.parse().unwrap()));
        let headers: HeaderMap = named.into_iter().collect();
        let (pause, now) = (Pause::default(), Instant::now());
        let learned =
            pause.record_retry_after(now, StatusCode::from_u16(status).unwrap(), &headers);
        let seconds = learned.map(|it| it.wait.as_secs());
        assert_eq!(seconds, expected, "{status} {headers:?}");
        assert_eq!(pause.remaining_wait(now).is_some(), expected.is_some());
        pause.clear();
        assert_eq!(pause.remaining_wait(now), None);
    }

    #[test]
    fn a_wait_is_read_from_the_answer_and_is_limited() {
        check(429, Some("7"), Some(7));
        check(503, Some("7"), Some(7));
        check(429, None, Some(1));
        check(429, Some("soon"), Some(1));
        check(503, None, None);
        check(429, Some("0"), None);
        check(429, Some("Fri, 31 Dec 1999 23:59:59 GMT"), None);
        check(429, Some("Tue, 31 Dec 2199 23:59:59 GMT"), Some(3600));
        check(429, Some("99999999999999"), Some(3600));
        check(500, Some("7"), None);
        check(200, Some("7"), None);
    }

    #[test]
    fn a_wait_ends_by_itself_and_a_shorter_one_does_not_end_a_longer_one() {
        let (pause, now) = (Pause::default(), Instant::now());
        for seconds in ["30", "5"] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, seconds.parse().unwrap())]);
            pause.record_retry_after(now, StatusCode::TOO_MANY_REQUESTS, &headers);
        }
        let left = pause.remaining_wait(now + Duration::from_secs(10)).unwrap();
        assert_eq!((left.status.as_u16(), left.wait.as_secs()), (429, 20));
        assert_eq!(pause.remaining_wait(now + Duration::from_secs(30)), None);
    }
}
