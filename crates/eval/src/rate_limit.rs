//! Determines when the next request may be sent: at a limited rate, and after any pause that the
//! endpoint requested.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::{HeaderMap, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use tokio::time::Instant;

/// Assigns the times at which requests may be sent.
pub(crate) struct RateLimiter {
    interval: Duration,
    next: Mutex<Instant>,
}

impl RateLimiter {
    pub(crate) fn new(per_minute: Option<u32>) -> Self {
        let interval = per_minute.map_or(Duration::ZERO, |it| Duration::from_secs(60) / it.max(1));
        Self {
            interval,
            next: Mutex::new(Instant::now()),
        }
    }

    pub(crate) async fn wait_for_turn(&self) {
        let at = self.reserve_slot(Instant::now());
        tokio::time::sleep_until(at).await;
    }

    pub(crate) fn pause_until(&self, until: Instant) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = (*next).max(until);
    }

    /// Returns the next free time, and reserves it.
    fn reserve_slot(&self, now: Instant) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (*next).max(now);
        *next = at + self.interval;
        at
    }
}

/// Returns the pause that the endpoint requested, in seconds or as a date.
pub(crate) fn parse_retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match said.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let then = DateTimeParser::new().parse_timestamp(said).ok()?;
            let pause = then.duration_since(now).try_into();
            Some(pause.unwrap_or(Duration::ZERO))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a slot some seconds after `start`, and checks the second that is returned.
    #[track_caller]
    fn check_slot(limiter: &RateLimiter, start: Instant, asked: u64, expected: u64) {
        let slot = limiter.reserve_slot(start + Duration::from_secs(asked));
        assert_eq!(slot.duration_since(start).as_secs(), expected);
    }

    #[test]
    fn requests_keep_the_rate_and_wait_out_a_pause() {
        let now = Instant::now();
        let limiter = RateLimiter {
            interval: Duration::from_secs(1),
            next: Mutex::new(now),
        };
        for (asked, expected) in [(0, 0), (0, 1), (0, 2)] {
            check_slot(&limiter, now, asked, expected);
        }
        limiter.pause_until(now + Duration::from_secs(10));
        for (asked, expected) in [(0, 10), (0, 11), (60, 60)] {
            check_slot(&limiter, now, asked, expected);
        }
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_as_a_date() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (said, seconds) in [
            ("7", Some(7.0)),
            ("0.25", Some(0.25)),
            ("Sun, 01 Mar 2026 12:00:30 GMT", Some(30.0)),
            ("Sun, 01 Mar 2026 11:00:00 GMT", Some(0.0)),
            ("soon", None),
            ("-1", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, said.parse().unwrap())]);
            let found = parse_retry_after(&headers, now).map(|it| it.as_secs_f64());
            assert_eq!(found, seconds, "{said}");
        }
        assert_eq!(parse_retry_after(&HeaderMap::new(), now), None);
    }
}
