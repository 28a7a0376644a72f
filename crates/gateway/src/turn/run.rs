//! One run of a program: what the calls that it makes know of it, and the run itself while its
//! client is asked.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use kitbag_domain::sync::lock;
use kitbag_domain::{Outcome, ServerName, ShortText};
use kitbag_wire::{ErrorObject, Raw};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::call::failure::Failure;
use crate::state::random_ids::random_request_id;

pub(crate) struct CodeRun {
    /// Each call of the run is recorded with it.
    pub(crate) id: ShortText,
    calls: Mutex<Vec<MadeCall>>,
    permitted: Mutex<HashSet<String>>,
}

/// A call that a program has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MadeCall {
    pub(crate) tool: String,
    /// Absent for a name that leads nowhere.
    pub(crate) server: Option<ServerName>,
    pub(crate) outcome: Outcome,
    pub(crate) latency: Duration,
    /// True if the call may have changed something.
    pub(crate) writes: bool,
}

/// A run that goes on beside the requests of its client, which it may outlive.
pub(crate) struct RunningProgram {
    pub(crate) end: AbortOnDropHandle<Result<Raw, Failure>>,
    pub(crate) questions: mpsc::Receiver<RunQuestion>,
}

/// A run that waits for answers of the person.
pub(crate) struct SuspendedRun {
    pub(crate) running: RunningProgram,
    /// The questions by the keys under which the client was given them.
    pub(crate) asked: Vec<(String, RunQuestion)>,
}

/// A question that comes up while a program of a modern client runs.
pub(crate) struct RunQuestion {
    pub(crate) method: String,
    pub(crate) params: Option<Raw>,
    pub(crate) answer: oneshot::Sender<Result<Raw, ErrorObject>>,
}

impl MadeCall {
    /// True unless it is certain that the call changed nothing.
    pub(crate) fn may_have_written(&self) -> bool {
        self.writes && !matches!(self.outcome, Outcome::Denied | Outcome::Invalid)
    }
}

impl CodeRun {
    pub(crate) fn begin() -> Self {
        Self {
            id: ShortText::cut(&random_request_id()),
            calls: Mutex::default(),
            permitted: Mutex::default(),
        }
    }

    pub(crate) fn made(&self, call: MadeCall) {
        lock(&self.calls).push(call);
    }

    /// Returns the servers that were called.
    pub(crate) fn servers(&self) -> Vec<ServerName> {
        let calls = lock(&self.calls);
        let servers: BTreeSet<&ServerName> =
            calls.iter().filter_map(|it| it.server.as_ref()).collect();
        servers.into_iter().cloned().collect()
    }

    /// Returns the calls in the order in which they ended.
    pub(crate) fn calls(&self) -> Vec<MadeCall> {
        lock(&self.calls).clone()
    }

    /// Notes that the person permits all calls of a tool in this run.
    pub(crate) fn permit(&self, tool: &str) {
        lock(&self.permitted).insert(tool.to_owned());
    }

    pub(crate) fn is_permitted(&self, tool: &str) -> bool {
        lock(&self.permitted).contains(tool)
    }
}
