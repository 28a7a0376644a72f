//! The words by which rows of the audit are asked for.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo};
use kitbag_domain::{Action, InquiryKind, Outcome, Timestamp};
use kitbag_store::AuditRowKind;

use crate::state::clock::now;

/// One word may stand for several outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcomes(pub Vec<Outcome>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    #[error("there are {}, and failed", Outcome::ALL.map(Outcome::as_str).join(", "))]
    Outcome,
    #[error("there are call, {}, {}", InquiryKind::ALL.map(InquiryKind::as_str).join(", "), Action::ALL.map(Action::as_str).join(", "))]
    Entry,
    #[error(
        "write how long ago, as in `30m`, `2h` or `7d`, or when, as in `2026-11-15` or `2026-11-15T14:30`"
    )]
    Start,
}

/// The outcomes of calls that went wrong at a server, whether the server or the caller is at fault.
const FAILED: [Outcome; 4] = [
    Outcome::ToolError,
    Outcome::Refused,
    Outcome::Unavailable,
    Outcome::TimedOut,
];

pub fn outcomes(text: &str) -> Result<Outcomes, TermError> {
    if text == "failed" {
        return Ok(Outcomes(FAILED.to_vec()));
    }
    Outcome::parse(text)
        .map(|one| Outcomes(vec![one]))
        .ok_or(TermError::Outcome)
}

pub fn entry(text: &str) -> Result<AuditRowKind, TermError> {
    AuditRowKind::parse(text).ok_or(TermError::Entry)
}

/// Reads a time: so long ago, or the beginning of a day, or a moment, in the time zone of this
/// machine.
pub fn start(text: &str) -> Result<Timestamp, TermError> {
    start_from(text, now(), &TimeZone::system()).ok_or(TermError::Start)
}

fn start_from(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
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
    fn a_start_is_so_long_ago_or_a_moment_where_the_person_is() {
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
            let found = start_from(text, NOW, &zone).map(|at| at.0 - NOW.0);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn failed_stands_for_whatever_went_wrong_at_a_server() {
        assert_eq!(outcomes("ok").unwrap().0, [Outcome::Ok]);
        assert!(outcomes("failed").unwrap().0.contains(&Outcome::TimedOut));
        assert!(
            outcomes("fine")
                .unwrap_err()
                .to_string()
                .contains("timed_out")
        );
        assert!(
            entry("keys")
                .unwrap_err()
                .to_string()
                .contains("key_refused")
        );
    }
}
