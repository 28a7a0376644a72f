//! The messages between the gateway and a worker: JSON in length-prefixed frames.

use std::time::Duration;

use kitbag_script::{ProgramShape, SyntaxMistake};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::host::{HostAnswer, HostRequest};
use crate::jail::LayerReport;
use crate::outcome::{ConsoleLine, RunFailure};

/// In bytes. A longer frame is rejected by the reading side before it is buffered.
pub(crate) const MAX_FRAME: usize = 16 << 20;

/// The bytes of text that fit into a frame even if JSON escapes all of it: a control character
/// becomes six characters, and the message around the text needs a little.
pub(crate) const MAX_TEXT: usize = MAX_FRAME / 8;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Comes first: the worker closes its jail with these limits.
    Start(JailLimits),
    Run(RunJob),
    Check {
        source: String,
    },
    Answer {
        id: u64,
        answer: HostAnswer,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The jail is closed as far as this machine allows.
    Ready {
        layers: Vec<LayerReport>,
    },
    Request {
        id: u64,
        request: HostRequest,
    },
    Console(ConsoleLine),
    Finished(FinishedRun),
    Checked(Result<ProgramShape, SyntaxMistake>),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct JailLimits {
    /// The heap limit of a program, in bytes.
    pub memory: usize,
    /// The processor time of the worker, all runs together.
    pub cpu: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunJob {
    pub source: String,
    pub params: Option<Box<RawValue>>,
    pub wants_shape: bool,
    pub cpu: Duration,
    pub memory: usize,
    pub output: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FinishedRun {
    pub value: Result<Box<RawValue>, RunFailure>,
    pub shape: Option<ProgramShape>,
    /// The processor time that the worker has used since it was started.
    pub cpu: Duration,
}
