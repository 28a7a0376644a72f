//! Formats and parses timestamps for people and models.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use kitbag_domain::Timestamp;

/// Returns the moment as RFC 3339 text in UTC.
pub(crate) fn to_rfc3339(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0);
    moment.map_or_else(|_| at.0.to_string(), |moment| moment.to_string())
}

/// Parses an RFC 3339 timestamp, or a day, which means midnight UTC.
pub(crate) fn parse_moment(text: &str) -> Option<Timestamp> {
    let moment = text
        .parse()
        .ok()
        .or_else(|| start_of_day(text.parse().ok()?))?;
    Some(Timestamp(moment.as_millisecond()))
}

fn start_of_day(day: Date) -> Option<jiff::Timestamp> {
    let zoned = day.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// Returns the day of the moment in UTC.
pub(crate) fn utc_day(at: Timestamp) -> Date {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment.to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_and_days_are_parsed_and_formatted_in_utc() {
        for (text, again) in [
            ("2026-11-16", Some("2026-11-16T00:00:00Z")),
            ("2026-11-16T12:00:00+02:00", Some("2026-11-16T10:00:00Z")),
            ("yesterday", None),
            ("2026-02-30", None),
        ] {
            assert_eq!(
                parse_moment(text).map(to_rfc3339).as_deref(),
                again,
                "{text}"
            );
        }
    }
}
