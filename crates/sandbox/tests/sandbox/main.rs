//! Programs in real workers behind their real jail.

mod harness;
mod programs;
