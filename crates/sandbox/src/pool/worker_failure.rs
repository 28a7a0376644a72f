//! Describes the failure of a worker as the reason why a run has no value.

use std::fmt::Display;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;

use crate::outcome::RunFailure;
use crate::protocol::FromWorker;

/// The worker closed its pipe: it has ended, or will be killed.
pub(super) async fn from_exit(child: &mut Child) -> RunFailure {
    let ended = tokio::time::timeout(LAST_MOMENT, child.wait()).await;
    worker_died(match ended {
        Ok(Ok(status)) => how(status),
        _ => "it closed its pipe".to_owned(),
    })
}

/// The worker sent something other than a message. It is hostile, so nothing more is read from it.
pub(super) fn unreadable_error(error: &impl Display) -> RunFailure {
    worker_died(format!("it sent an invalid message ({error})"))
}

/// The worker sent a message that is not the answer to its order.
pub(super) fn unexpected_message(message: &FromWorker) -> RunFailure {
    let kind = match message {
        FromWorker::Ready { .. } => "greeting",
        FromWorker::Request { .. } => "request",
        FromWorker::Console(_) => "line",
        FromWorker::Finished(_) => "end of a run",
        FromWorker::Checked(_) => "check",
    };
    worker_died(format!("it sent a {kind} out of turn"))
}

pub(super) fn unavailable(reason: &(impl ToString + ?Sized)) -> RunFailure {
    RunFailure::Unavailable {
        reason: reason.to_string(),
    }
}

/// How long a process may take to end after it closed its pipe.
const LAST_MOMENT: Duration = Duration::from_secs(1);

fn worker_died(how: String) -> RunFailure {
    RunFailure::WorkerDied { how }
}

fn how(status: ExitStatus) -> String {
    match status.signal() {
        Some(libc::SIGSYS) => "it made a system call that the jail forbids".to_owned(),
        Some(libc::SIGXCPU) => "it used up the processor time of a worker".to_owned(),
        Some(libc::SIGSEGV | libc::SIGBUS) => "the engine crashed".to_owned(),
        Some(libc::SIGABRT) => "the engine aborted".to_owned(),
        Some(libc::SIGKILL) => "the system killed it".to_owned(),
        Some(signal) => format!("signal {signal} ended it"),
        None => format!("it exited with {}", status.code().unwrap_or_default()),
    }
}
