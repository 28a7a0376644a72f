//! The headers in which an API reports how many requests remain.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode};
use kitbag_fetch::retry_after;

/// Returns how long to pause, if the answer reports that no requests remain.
pub(super) fn closed_duration(
    status: StatusCode,
    headers: &HeaderMap,
    now: SystemTime,
) -> Option<Duration> {
    let refused = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let requested = retry_after(headers, now).filter(|_| refused);
    requested.or_else(|| time_until_reset(headers, now))
}

fn time_until_reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let pairs = PAIRS.iter().find_map(|(remaining, reset)| {
        let none_left = header_text(headers, remaining)?.trim() == "0";
        none_left.then(|| parse_reset(header_text(headers, reset)?, now))?
    });
    pairs.or_else(|| combined_header(header_text(headers, "ratelimit")?, now))
}

/// The names that APIs use, each with its reset.
const PAIRS: [(&str, &str); 4] = [
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("x-ratelimit-remaining", "x-ratelimit-reset-after"),
    ("x-rate-limit-remaining", "x-rate-limit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Parses `limit=100, remaining=0, reset=50` and `"default";r=0;t=50`, from drafts of the standard.
fn combined_header(text: &str, now: SystemTime) -> Option<Duration> {
    let words: Vec<(&str, &str)> = text
        .split([',', ';'])
        .filter_map(|word| word.trim().split_once('='))
        .collect();
    let none_left = find_value(&words, ["remaining", "r"])? == "0";
    none_left.then(|| parse_reset(find_value(&words, ["reset", "t"])?, now))?
}

fn find_value<'a>(words: &[(&str, &'a str)], names: [&str; 2]) -> Option<&'a str> {
    let found = words.iter().find(|(name, _)| names.contains(name));
    found.map(|(_, value)| *value)
}

/// A small number is a duration, a large one a date.
fn parse_reset(reset: &str, now: SystemTime) -> Option<Duration> {
    let number: f64 = reset.trim().parse().ok()?;
    let since_epoch = now.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let seconds = match number {
        _ if number > FIRST_MILLISECONDS => number / 1000.0 - since_epoch,
        _ if number > FIRST_DATE => number - since_epoch,
        _ => number,
    };
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

/// No wait is thirty years, and no date is before 2001.
const FIRST_DATE: f64 = 1e9;
/// As seconds, this would be in the year 5138.
const FIRST_MILLISECONDS: f64 = 1e11;

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, lines: &str, expected: Option<u64>) {
        let mut headers = HeaderMap::new();
        for line in lines.split(" | ") {
            let (name, value) = line.split_once(": ").unwrap();
            let name: http::HeaderName = name.parse().unwrap();
            headers.insert(name, value.parse().unwrap());
        }
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let found = closed_duration(StatusCode::from_u16(status).unwrap(), &headers, now);
        assert_eq!(found, expected.map(Duration::from_secs), "{lines}");
    }

    #[test]
    fn the_reset_is_found_in_every_manner_of_writing_it() {
        for (status, lines, expected) in [
            (429, "retry-after: 7", Some(7)),
            (503, "retry-after: 7", Some(7)),
            (503, "content-type: text/plain", None),
            (200, "retry-after: 7", None),
            (429, "content-type: text/plain", None),
            (
                200,
                "x-ratelimit-remaining: 0 | x-ratelimit-reset: 1800000090",
                Some(90),
            ),
            (
                200,
                "x-ratelimit-remaining: 0 | x-ratelimit-reset: 1800000090000",
                Some(90),
            ),
            (
                200,
                "x-ratelimit-remaining: 0 | x-ratelimit-reset: 1799999990",
                Some(0),
            ),
            (
                200,
                "x-ratelimit-remaining: 1 | x-ratelimit-reset: 1800000090",
                None,
            ),
            (200, "x-ratelimit-remaining: 0", None),
            (
                200,
                "x-ratelimit-remaining: 0 | x-ratelimit-reset-after: 2",
                Some(2),
            ),
            (
                403,
                "x-rate-limit-remaining: 0 | x-rate-limit-reset: 5",
                Some(5),
            ),
            (
                200,
                "ratelimit-remaining: 0 | ratelimit-reset: 50",
                Some(50),
            ),
            (200, "ratelimit: limit=100, remaining=0, reset=50", Some(50)),
            (200, "ratelimit: limit=100, remaining=3, reset=50", None),
            (200, "ratelimit: \"default\";r=0;t=30", Some(30)),
            (
                429,
                "retry-after: 3 | ratelimit: \"default\";r=0;t=30",
                Some(3),
            ),
        ] {
            check(status, lines, expected);
        }
    }
}
