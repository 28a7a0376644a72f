//! Runs untrusted code within a budget; it touches the world only through the host it is handed.
//!
//! # Layout
//! - [`host`]: the calls that a program makes, and the trait that answers them
//! - [`outcome`]: the end of a run
//! - [`settings`]: budgets, and how workers are started

pub mod host;
pub mod outcome;
pub mod settings;

pub use host::{Host, HostError, HostRequest};
pub use outcome::{ConsoleLine, RunFailure, RunOutcome};
pub use settings::{Budget, Isolation, Program, SandboxSettings, WorkerCommand};
