//! The sandbox of a configuration: its limits, and this program once more as the worker.

use kitbag_config::Code;
use kitbag_sandbox::{Budget, Isolation, Sandbox, SandboxSettings, WorkerCommand};

pub fn sandbox_of(code: &Code) -> Sandbox {
    Sandbox::new(SandboxSettings {
        worker: WorkerCommand::this_program(),
        budget: budget(code),
        warm: code.warm_workers,
        most: code.workers,
        isolation: match code.best_effort {
            true => Isolation::BestEffort,
            false => Isolation::Required,
        },
    })
}

fn budget(code: &Code) -> Budget {
    /// A megabyte, as memory is counted.
    const MEGABYTE: usize = 1024 * 1024;
    Budget {
        wall: code.timeout,
        cpu: code.timeout,
        memory: code.memory_mb * MEGABYTE,
        output: code.max_output_bytes,
        calls: code.max_calls,
        calls_at_once: code.max_parallel_calls,
    }
}
