//! The time of day, for everything that is recorded.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use kitbag_domain::Timestamp;

pub fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

/// The day in UTC, which is that of dated data.
pub(crate) fn today() -> Date {
    jiff::Timestamp::now().to_zoned(TimeZone::UTC).date()
}
