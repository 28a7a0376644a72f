//! The worker: a process that closes its jail and then runs the programs that it receives.
//!
//! It has one thread and speaks with the gateway over its standard input and output.

mod pipe;

use std::process::ExitCode;

use crate::engine;
use crate::jail::{self, JailLayer};
use crate::protocol::{FromWorker, JailLimits, RunJob, ToWorker};

pub(crate) use pipe::{GatewayPipe, PipeError};

/// Runs this process as a worker until the gateway closes the pipe. Must be called before anything
/// else: existing threads would stay outside the jail.
pub fn main() -> ExitCode {
    exit_code(&serve(&JailLayer::ALL, engine::run))
}

/// Like [`main`], for a worker that attacks: passes each program's text to `attack` first. If
/// `attack` returns a text, that is the result, and the program is not run.
#[cfg(feature = "attacks")]
pub fn main_with(layers: &[JailLayer], attack: fn(&str) -> Option<String>) -> ExitCode {
    let run = move |job: &RunJob, pipe: &GatewayPipe| match attack(&job.source) {
        Some(words) => engine::report(&words, pipe),
        None => engine::run(job, pipe),
    };
    exit_code(&serve(layers, run))
}

fn serve(
    layers: &[JailLayer],
    run: impl Fn(&RunJob, &GatewayPipe) -> Result<(), PipeError>,
) -> Result<(), PipeError> {
    let pipe = GatewayPipe::default();
    start(layers, &pipe)?;
    loop {
        match pipe.receive()? {
            ToWorker::Run(job) => run(&job, &pipe)?,
            ToWorker::Check { source } => check(&source, &pipe)?,
            // An answer to a run that has already ended.
            ToWorker::Answer { .. } | ToWorker::Start(_) => {}
        }
    }
}

fn exit_code(served: &Result<(), PipeError>) -> ExitCode {
    match served {
        Ok(()) | Err(PipeError::Closed) => ExitCode::SUCCESS,
        Err(PipeError::Unreadable { .. }) => ExitCode::FAILURE,
    }
}

fn start(layers: &[JailLayer], pipe: &GatewayPipe) -> Result<(), PipeError> {
    let limits = limits(pipe)?;
    // The engine and the C library read some files once; after this, none is left to read.
    engine::warm_up();
    let layers = jail::close(layers, limits);
    pipe.send(&FromWorker::Ready { layers })
}

fn limits(pipe: &GatewayPipe) -> Result<JailLimits, PipeError> {
    match pipe.receive()? {
        ToWorker::Start(limits) => Ok(limits),
        other => Err(PipeError::Unreadable {
            reason: format!("the first message is {other:?}"),
        }),
    }
}

fn check(source: &str, pipe: &GatewayPipe) -> Result<(), PipeError> {
    pipe.send(&FromWorker::Checked(kitbag_script::shape(source)))
}
