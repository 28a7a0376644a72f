//! Runs untrusted code within a budget. It reaches the outside only through the host that is passed
//! in.
//!
//! # Layout
//! - [`host`]: the requests of a program, and the trait that answers them
//! - [`outcome`]: the result of a run
//! - [`settings`]: budgets, and how workers are started
//! - [`pool`]: the gateway's side: starting workers, lending them to runs, and ending them
//! - [`worker`]: the worker's side: the process that runs programs
//! - [`jail`]: the layers between a worker and the machine
//! - `engine`: JavaScript, and the environment of a program
//! - `protocol`: the messages between both sides

mod engine;
pub mod host;
pub mod jail;
pub mod outcome;
pub mod pool;
mod protocol;
pub mod settings;
pub mod worker;

pub use host::{Host, HostAnswer, HostError, HostRequest};
pub use jail::{JailLayer, LayerReport};
pub use kitbag_script::{ProgramShape, ShapeLiteral, SyntaxMistake, ToolPath};
pub use outcome::{ConsoleLevel, ConsoleLine, RunFailure, RunOutcome};
pub use pool::{CheckFailure, Sandbox};
pub use settings::{Budget, Isolation, Program, SandboxSettings, WorkerCommand};
