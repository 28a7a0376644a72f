//! Describes in a few words why a request failed.

use std::error::Error;

/// Describes why a request failed, without its URL, which may contain a secret.
pub fn describe_error(error: reqwest::Error) -> String {
    let timed_out = error.is_timeout();
    let cause = root_cause(&error.without_url());
    // A connect timeout reads "deadline has elapsed", which explains nothing.
    if timed_out && !cause.contains("timed out") {
        return format!("timed out: {cause}");
    }
    cause
}

/// Returns the innermost source: `reqwest` wraps "connection refused" in three layers of its own.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}
