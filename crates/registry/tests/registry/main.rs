//! A registry is asked, and what it says becomes something to launch.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod anything;
mod asking;
mod plans;
