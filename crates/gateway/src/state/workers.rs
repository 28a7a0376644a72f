//! The sandbox of a configuration: its limits, and this program once more as the worker.

use std::time::Duration;

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
    /// The engine stops a busy program by itself a moment before its process would be killed, and
    /// says so.
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
