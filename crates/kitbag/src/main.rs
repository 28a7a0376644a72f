//! One screen: arguments → what they ask for → how it ended.

use std::process::ExitCode;

use kitbag::cli::{Cli, completions};
use kitbag_sandbox::{WorkerCommand, worker};

/// A call makes many small, short-lived allocations; the system's allocator is slow at those.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(WorkerCommand::ARGUMENT) {
        return worker::main();
    }
    completions::answer_shell();
    Cli::parse_or_report().map_or_else(|ended| ended, Cli::run)
}
