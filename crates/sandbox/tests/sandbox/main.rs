//! Programs in real workers in their real jail.

// Other systems have no jail.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod escapes;
mod fuzz;
mod harness;
mod hostile_programs;
mod programs;
mod workers;
