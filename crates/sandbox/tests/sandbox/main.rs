//! Programs in real workers behind their real jail.

// Elsewhere there is no jail.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that fails says so by it")]

mod escapes;
mod fuzz;
mod harness;
mod hostile_programs;
mod programs;
mod workers;
