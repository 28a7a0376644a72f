//! Parses and formats points in time and durations: `90d`, `2027-01-31`, `3 minutes ago`.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use kitbag_domain::Timestamp;

use kitbag_gateway::state::clock::now;

#[derive(Debug, thiserror::Error)]
pub(crate) enum MomentError {
    #[error("expected a duration such as `90d` or `12h`, or a date such as `2027-01-31`")]
    Unreadable,
    #[error("the time is in the past")]
    Past,
    #[error("the time is out of range")]
    TooFar,
    #[error("expected a duration such as `30m`, `1h` or `2d`")]
    NotADuration,
}

/// Parses an end: a duration from now, a date (start of day, UTC), or a timestamp.
pub(crate) fn parse_end(text: &str) -> Result<Timestamp, MomentError> {
    parse_end_from(text, now())
}

/// Parses a duration; a day has 24 hours.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, MomentError> {
    let span: Span = text.parse().map_err(|_| MomentError::NotADuration)?;
    let length = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|_| MomentError::NotADuration)?;
    Duration::try_from(length).map_err(|_| MomentError::NotADuration)
}

/// Formats the distance from now: `in 3 days`, `2 hours ago`.
pub(crate) fn format_relative(at: Timestamp) -> String {
    format_relative_to(at, now())
}

fn parse_end_from(text: &str, now: Timestamp) -> Result<Timestamp, MomentError> {
    let end = match (
        text.parse::<jiff::Timestamp>(),
        text.parse::<Date>(),
        text.parse::<Span>(),
    ) {
        (Ok(moment), ..) => moment,
        (_, Ok(day), _) => day
            .to_zoned(TimeZone::UTC)
            .map_err(|_| MomentError::TooFar)?
            .timestamp(),
        (_, _, Ok(span)) => {
            let from = jiff::Timestamp::from_millisecond(now.0).map_err(|_| MomentError::TooFar)?;
            let end = from
                .to_zoned(TimeZone::UTC)
                .checked_add(span)
                .map_err(|_| MomentError::TooFar)?;
            end.timestamp()
        }
        _ => return Err(MomentError::Unreadable),
    };
    let end = Timestamp(end.as_millisecond());
    if end > now {
        Ok(end)
    } else {
        Err(MomentError::Past)
    }
}

fn format_relative_to(at: Timestamp, now: Timestamp) -> String {
    let apart = SignedDuration::from_millis(at.0.saturating_sub(now.0));
    let seconds = apart.unsigned_abs().as_secs();
    let (number, unit) = match seconds {
        0..60 => return if at > now { "in a moment" } else { "just now" }.to_owned(),
        60..5_400 => ((seconds + 30) / 60, "minute"),
        5_400..129_600 => ((seconds + 1_800) / 3_600, "hour"),
        _ => ((seconds + 43_200) / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    if at > now {
        format!("in {number} {unit}{plural}")
    } else {
        format!("{number} {unit}{plural} ago")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    /// Now is 2026-01-01T00:00Z.
    const NOW: Timestamp = Timestamp(1_767_225_600_000);

    #[track_caller]
    fn check(text: &str, expected: Result<i64, &str>) {
        let found = parse_end_from(text, NOW)
            .map(|at| at.0 - NOW.0)
            .map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn an_end_is_a_duration_a_date_or_a_timestamp() {
        check("90d", Ok(90 * DAY));
        check("2w", Ok(14 * DAY));
        check("12h", Ok(DAY / 2));
        check("1 month", Ok(31 * DAY));
        check("2026-01-02", Ok(DAY));
        check("2026-01-01T06:00:00Z", Ok(DAY / 4));
        check("2025-12-31", Err("the time is in the past"));
        check("-1d", Err("the time is in the past"));
        check(
            "99999999999y",
            Err("expected a duration such as `90d` or `12h`, or a date such as `2027-01-31`"),
        );
        check("9998y", Err("the time is out of range"));
        check(
            "soon",
            Err("expected a duration such as `90d` or `12h`, or a date such as `2027-01-31`"),
        );
    }

    #[test]
    fn a_duration_may_be_zero_but_not_negative() {
        assert_eq!(parse_duration("1h").unwrap(), Duration::from_secs(3_600));
        assert_eq!(parse_duration("2d").unwrap(), Duration::from_secs(172_800));
        assert_eq!(parse_duration("0s").unwrap(), Duration::ZERO);
        for wrong in ["-1h", "1 month", "tomorrow", ""] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_relative_time_uses_one_unit() {
        for (apart, expected) in [
            (5_000, "in a moment"),
            (-5_000, "just now"),
            (-180_000, "3 minutes ago"),
            (-60_000, "1 minute ago"),
            (7_200_000, "in 2 hours"),
            (90 * DAY - 1_000, "in 90 days"),
            (-DAY * 3, "3 days ago"),
        ] {
            assert_eq!(format_relative_to(Timestamp(NOW.0 + apart), NOW), expected);
        }
    }
}
