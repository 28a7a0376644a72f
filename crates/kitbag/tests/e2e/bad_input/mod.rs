//! Invalid input over HTTP and stdio: it gets a clear error, and the next request works.

mod http;
mod stdio;

/// Nested deeper than a recursive parser survives.
fn deep() -> String {
    format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))
}
