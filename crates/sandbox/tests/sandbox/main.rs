//! Programs in real workers behind their real jail.

#![expect(clippy::unwrap_used, reason = "a test that fails says so by it")]

mod escapes;
mod fuzz;
mod harness;
mod programs;
mod workers;
