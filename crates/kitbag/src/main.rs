//! Entry point: parses the command line and runs it, or starts a sandbox worker.

use std::process::ExitCode;

use kitbag::cli::{Cli, completions};
use kitbag_sandbox::{WorkerCommand, worker};

/// Calls make many small, short-lived allocations, which are slow in the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(WorkerCommand::ARGUMENT) {
        return worker::main();
    }
    completions::answer_shell();
    Cli::parse_or_report().map_or_else(|ended| ended, Cli::run)
}
