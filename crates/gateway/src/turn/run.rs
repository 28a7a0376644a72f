//! One run of a program: the calls it has made, the tools the user has permitted, and its state
//! while the client is being asked.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use kitbag_domain::sync::lock;
use kitbag_domain::{Outcome, ServerName, ShortText};
use kitbag_wire::{ErrorObject, Raw};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::call::conversation::KeyedQuestions;
use crate::call::failure::Failure;
use crate::state::random_ids::random_request_id;

pub(crate) struct CodeRun {
    /// Recorded in the audit with each call of the run.
    pub(crate) id: ShortText,
    calls: Mutex<Vec<ProgramCall>>,
    permitted: Mutex<HashSet<String>>,
    /// True if no call may write, whatever the rules say.
    pub(crate) only_reads: bool,
}

/// A call that a program has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramCall {
    pub(crate) tool: String,
    /// Absent for an unknown tool.
    pub(crate) server: Option<ServerName>,
    pub(crate) outcome: Outcome,
    pub(crate) latency: Duration,
    /// True if the call may have changed something.
    pub(crate) writes: bool,
}

/// A run in its own task, which may outlive the requests of its client.
pub(crate) struct RunningProgram {
    pub(crate) end: AbortOnDropHandle<Result<Raw, Failure>>,
    pub(crate) questions: mpsc::Receiver<RunQuestion>,
}

/// A run that waits for answers of the user.
pub(crate) struct SuspendedRun {
    pub(crate) running: RunningProgram,
    pub(crate) questions: KeyedQuestions<RunQuestion>,
}

/// A question of a program that runs for a modern client.
pub(crate) struct RunQuestion {
    pub(crate) method: String,
    pub(crate) params: Option<Raw>,
    pub(crate) answer: oneshot::Sender<Result<Raw, ErrorObject>>,
}

impl ProgramCall {
    /// True unless it is certain that the call changed nothing.
    pub(crate) fn may_have_written(&self) -> bool {
        self.writes && !matches!(self.outcome, Outcome::Denied | Outcome::Invalid)
    }
}

impl CodeRun {
    pub(crate) fn new() -> Self {
        Self {
            id: ShortText::truncate(&random_request_id()),
            calls: Mutex::default(),
            permitted: Mutex::default(),
            only_reads: false,
        }
    }

    /// A run that may not change anything.
    pub(crate) fn only_reading() -> Self {
        Self {
            only_reads: true,
            ..Self::new()
        }
    }

    pub(crate) fn record_call(&self, call: ProgramCall) {
        lock(&self.calls).push(call);
    }

    /// Returns the servers that were called.
    pub(crate) fn called_servers(&self) -> Vec<ServerName> {
        let calls = lock(&self.calls);
        let servers: BTreeSet<&ServerName> =
            calls.iter().filter_map(|it| it.server.as_ref()).collect();
        servers.into_iter().cloned().collect()
    }

    /// Returns the calls in the order in which they ended.
    pub(crate) fn calls(&self) -> Vec<ProgramCall> {
        lock(&self.calls).clone()
    }

    /// Permits all calls of a tool in this run.
    pub(crate) fn permit_tool(&self, tool: &str) {
        lock(&self.permitted).insert(tool.to_owned());
    }

    pub(crate) fn is_permitted(&self, tool: &str) -> bool {
        lock(&self.permitted).contains(tool)
    }
}
