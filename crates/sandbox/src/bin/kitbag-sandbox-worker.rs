//! A standalone worker, for the tests and benchmarks of the sandbox.

use std::process::ExitCode;

/// The program's allocator, which must work inside the jail.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kitbag_sandbox::worker::main()
}
