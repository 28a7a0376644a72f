//! Parses the filter values of `kitbag audit` and `/v1/audit`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo};
use kitbag_domain::{Action, InquiryKind, Outcome, Timestamp};
use kitbag_store::AuditRowKind;

use crate::state::clock::now;

/// The outcomes that one filter value selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcomes(pub Vec<Outcome>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("expected one of {}, failed", Outcome::ALL.map(Outcome::as_str).join(", "))]
    Outcome,
    #[error("expected one of call, {}, {}", InquiryKind::ALL.map(InquiryKind::as_str).join(", "), Action::ALL.map(Action::as_str).join(", "))]
    Entry,
    #[error(
        "expected an age such as `30m`, `2h` or `7d`, or a time such as `2026-11-15` or `2026-11-15T14:30`"
    )]
    Start,
}

/// The outcomes of calls that failed at a server, whoever is at fault.
const FAILED: [Outcome; 4] = [
    Outcome::ToolError,
    Outcome::Refused,
    Outcome::Unavailable,
    Outcome::TimedOut,
];

pub fn parse_outcomes(text: &str) -> Result<Outcomes, FilterError> {
    if text == "failed" {
        return Ok(Outcomes(FAILED.to_vec()));
    }
    Outcome::parse(text)
        .map(|one| Outcomes(vec![one]))
        .ok_or(FilterError::Outcome)
}

pub fn parse_row_kind(text: &str) -> Result<AuditRowKind, FilterError> {
    AuditRowKind::parse(text).ok_or(FilterError::Entry)
}

/// Parses an age, a date or a time, in the time zone of this machine.
pub fn parse_time(text: &str) -> Result<Timestamp, FilterError> {
    parse_time_at(text, now(), &TimeZone::system()).ok_or(FilterError::Start)
}

fn parse_time_at(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if let Ok(span) = text.parse::<Span>() {
        let ago = span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .ok()?
            .as_millis();
        let ago = i64::try_from(ago).ok().filter(|ago| *ago >= 0)?;
        return Some(Timestamp(now.0.saturating_sub(ago)));
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(moment.as_millisecond()));
    }
    let local = match text.parse::<DateTime>() {
        Ok(moment) => moment,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(Time::midnight()),
    };
    Some(Timestamp(
        local
            .to_zoned(zone.clone())
            .ok()?
            .timestamp()
            .as_millisecond(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    /// 2026-01-01 at 00:00 UTC.
    const NOW: Timestamp = Timestamp(1_767_225_600_000);

    #[test]
    fn a_start_is_an_age_or_a_local_time() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        for (text, expected) in [
            ("30m", Some(-DAY / 48)),
            ("2h", Some(-DAY / 12)),
            ("7d", Some(-7 * DAY)),
            ("2025-12-31", Some(-DAY - DAY / 24)),
            ("2025-12-31T01:00", Some(-DAY)),
            ("2025-12-31T00:00:00Z", Some(-DAY)),
            ("yesterday", None),
            ("-2h", None),
            ("2025-13-01", None),
            ("", None),
        ] {
            let found = parse_time_at(text, NOW, &zone).map(|at| at.0 - NOW.0);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn failed_includes_every_failure_at_a_server() {
        assert_eq!(parse_outcomes("ok").unwrap().0, [Outcome::Ok]);
        assert!(
            parse_outcomes("failed")
                .unwrap()
                .0
                .contains(&Outcome::TimedOut)
        );
        assert!(
            parse_outcomes("fine")
                .unwrap_err()
                .to_string()
                .contains("timed_out")
        );
        assert!(
            parse_row_kind("keys")
                .unwrap_err()
                .to_string()
                .contains("key_refused")
        );
    }
}
