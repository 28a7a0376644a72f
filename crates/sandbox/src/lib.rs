//! Runs untrusted code within a budget; it touches the world only through the host it is handed.
//!
//! # Layout
//! - [`host`]: the calls that a program makes, and the trait that answers them
//! - [`outcome`]: the end of a run
//! - [`settings`]: budgets, and how workers are started
//! - [`pool`]: the gateway's side: workers are started, lent to runs, and ended
//! - [`worker`]: the other side: the process that runs programs
//! - [`jail`]: the layers between a worker and the machine
//! - `engine`: JavaScript, and the world that a program sees
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
