//! Builds the sandbox from the `[code]` section: time, memory and output limits, and this binary as
//! the worker.

use std::time::Duration;

use kitbag_config::Code;
use kitbag_sandbox::{Budget, Isolation, Sandbox, SandboxSettings, WorkerCommand};

pub fn build_sandbox(code: &Code) -> Sandbox {
    Sandbox::new(SandboxSettings {
        worker: WorkerCommand::this_program(),
        budget: run_budget(code),
        warm: code.warm_workers,
        most: code.workers,
        isolation: match code.best_effort {
            true => Isolation::BestEffort,
            false => Isolation::Required,
        },
    })
}

fn run_budget(code: &Code) -> Budget {
    const MEGABYTE: usize = 1024 * 1024;
    /// The engine stops a busy program, with a clear error, this long before its process would be
    /// killed.
    const GRACE: Duration = Duration::from_millis(500);
    Budget {
        wall: code.timeout + GRACE,
        cpu: code.timeout,
        memory: code.memory_mb * MEGABYTE,
        output: code.max_output_bytes,
        calls: code.max_calls,
        calls_at_once: code.max_parallel_calls,
    }
}
