//! A worker on its own, for the tests and benchmarks of the sandbox.

use std::process::ExitCode;

/// The allocator of the program: it must get along with the jail.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kitbag_sandbox::worker::main()
}
