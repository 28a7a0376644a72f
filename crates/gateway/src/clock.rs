//! The time of day, for everything that is recorded.

use kitbag_domain::Timestamp;

pub fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
