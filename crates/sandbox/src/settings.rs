//! The program to run, the budget it has, and how workers are started.

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
    /// True if the outcome is to contain the shape of the program.
    pub wants_shape: bool,
}

/// The limits of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// From the start of the run, without the time in which a person is asked.
    pub wall: Duration,
    pub cpu: Duration,
    /// The bytes that the heap of the program may take.
    pub memory: usize,
    /// The bytes of the value that the program returns, and of its console, each.
    pub output: usize,
    /// The requests to the host in one run.
    pub calls: usize,
    /// The requests to the host that are answered at the same time; others wait.
    pub calls_at_once: usize,
}

/// The behaviour on a machine whose kernel lacks a layer of the jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// No program is run.
    #[default]
    Required,
    /// Programs are run behind the layers that there are.
    BestEffort,
}

/// The command line that becomes a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    pub worker: WorkerCommand,
    pub budget: Budget,
    /// Workers that are kept started while there is nothing to run.
    pub warm: usize,
    /// Workers that there may be at the same time; further runs wait for one.
    pub most: usize,
    pub isolation: Isolation,
}

impl WorkerCommand {
    /// The argument by which a program that is started once more knows that it is a worker.
    pub const ARGUMENT: &str = "__sandbox-worker";

    /// The program that runs now, started once more.
    pub fn this_program() -> Self {
        // The link leads to the program also when its file was replaced meanwhile.
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
