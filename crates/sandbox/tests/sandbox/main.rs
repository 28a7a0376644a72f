//! Programs in real workers behind their real jail.

mod escapes;
mod fuzz;
mod harness;
mod programs;
mod workers;
