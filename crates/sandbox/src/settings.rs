//! The program to run, its budget, and how workers are started.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::value::RawValue;

/// A program, and the data that it reads as `params`.
#[derive(Debug, Clone)]
pub struct Program {
    /// The body of an async function, in JavaScript or TypeScript.
    pub source: String,
    /// A JSON object.
    pub params: Option<Box<RawValue>>,
    /// True if the outcome should contain the shape of the program.
    pub wants_shape: bool,
}

/// The limits of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// From the start of the run, without the time in which a user is asked.
    pub wall: Duration,
    pub cpu: Duration,
    /// The heap limit of the program, in bytes.
    pub memory: usize,
    /// The limit on the returned value and on the console output, each in bytes.
    pub output: usize,
    /// The requests to the host in one run.
    pub calls: usize,
    /// The requests to the host that are answered concurrently; others wait.
    pub calls_at_once: usize,
}

/// The behaviour on a machine whose kernel lacks a layer of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Programs are not run.
    #[default]
    Required,
    /// Programs run with the available layers.
    BestEffort,
}

/// The command line of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub worker: WorkerCommand,
    pub budget: Budget,
    /// Workers that are kept ready while there is nothing to run.
    pub warm: usize,
    /// The most workers at the same time; further runs wait for one.
    pub most: usize,
    pub isolation: Isolation,
}

impl WorkerCommand {
    /// The argument that marks a program started again as a worker.
    pub const ARGUMENT: &str = "__sandbox-worker";

    /// The current program, started again.
    pub fn this_program() -> Self {
        // The link leads to the program even if its file has been replaced.
        let link = PathBuf::from("/proc/self/exe");
        let program = match link.exists() {
            true => link,
            false => std::env::current_exe().unwrap_or(link),
        };
        Self {
            program,
            arguments: vec![Self::ARGUMENT.to_owned()],
        }
    }
}
