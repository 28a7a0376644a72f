//! The time of day, for everything that is recorded.

use kitbag_domain::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
