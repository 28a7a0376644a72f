//! The current time and date, for records.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use kitbag_domain::Timestamp;

pub fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// Returns today's date in UTC, which dated data uses.
pub(crate) fn today() -> Date {
    jiff::Timestamp::now().to_zoned(TimeZone::UTC).date()
}
