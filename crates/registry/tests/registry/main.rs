//! Requests to a registry, and launch plans from its answers.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod anything;
mod asking;
mod plans;
