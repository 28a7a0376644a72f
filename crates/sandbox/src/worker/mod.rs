//! The worker: a process that closes its jail and then runs the programs that it is handed.
//!
//! It has one thread and speaks with the gateway over its standard input and output.

mod pipe;

use std::process::ExitCode;

use crate::engine;
use crate::jail;
use crate::protocol::{FromWorker, JailLimits, ToWorker};

pub(crate) use pipe::{GatewayPipe, PipeError};

/// Runs this process as a worker until the gateway closes the pipe. Call it before anything else:
/// threads and open files that are there already would stay outside the jail.
pub fn main() -> ExitCode {
    match serve(&GatewayPipe::default()) {
        Ok(()) | Err(PipeError::Closed) => ExitCode::SUCCESS,
        Err(PipeError::Unreadable { .. }) => ExitCode::FAILURE,
    }
}

/// Closes the jail as a worker does, and returns for what must be tried behind it.
#[doc(hidden)]
pub fn enter_jail() {
    let _ = start(&GatewayPipe::default());
}

fn serve(pipe: &GatewayPipe) -> Result<(), PipeError> {
    start(pipe)?;
    loop {
        work(pipe)?;
    }
}

fn start(pipe: &GatewayPipe) -> Result<(), PipeError> {
    let limits = limits(pipe)?;
    // What the engine and the C library read from files only once, they read here.
    engine::warm_up();
    let layers = jail::close(limits);
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

fn work(pipe: &GatewayPipe) -> Result<(), PipeError> {
    match pipe.receive()? {
        ToWorker::Run(job) => engine::run(&job, pipe),
        ToWorker::Check { source } => pipe.send(&FromWorker::Checked(kitbag_script::shape(&source))),
        // An answer to a run that has ended meanwhile.
        ToWorker::Answer { .. } | ToWorker::Start(_) => Ok(()),
    }
}
