//! The reason why a request failed, in a few words.

use std::error::Error;

/// Returns the reason why a request failed, without its address, which may hold a secret.
pub fn cause(error: reqwest::Error) -> String {
    let timed_out = error.is_timeout();
    let cause = innermost(&error.without_url());
    // A connection that is not made in time ends with "deadline has elapsed", which says nothing.
    if timed_out && !cause.contains("timed out") {
        return format!("timed out: {cause}");
    }
    cause
}

/// Returns the reason at the bottom: `reqwest` wraps "connection refused" in three layers of its own.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
