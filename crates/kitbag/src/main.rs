//! One screen: arguments → what they ask for → how it ended.

use std::process::ExitCode;

use kitbag::cli::{Cli, completions};

/// A call makes many small, short-lived allocations; the system's allocator is slow at those.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    completions::answer();
    Cli::read().map_or_else(|ended| ended, Cli::run)
}
