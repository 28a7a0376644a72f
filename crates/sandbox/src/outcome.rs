//! The result of a run: a value or the reason for its absence, and the console output.

use std::fmt;
use std::time::Duration;

use kitbag_script::{ProgramShape, SyntaxMistake};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Debug)]
pub struct RunOutcome {
    /// The value that the program returned, as JSON.
    pub value: Result<Box<RawValue>, RunFailure>,
    pub console: Vec<ConsoleLine>,
    /// The shape of the program, if requested and the run succeeded.
    pub shape: Option<ProgramShape>,
    /// The requests that the program made.
    pub calls: usize,
}

impl RunOutcome {
    /// The outcome of a program that was not started.
    pub(crate) fn from_failure(failure: RunFailure) -> Self {
        Self {
            value: Err(failure),
            console: Vec::new(),
            shape: None,
            calls: 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLine {
    pub level: ConsoleLevel,
    pub text: String,
}

/// The function of `console` that printed a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsoleLevel {
    Log,
    Info,
    Warn,
    Error,
    Debug,
}

impl fmt::Display for ConsoleLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "log",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Debug => "debug",
        })
    }
}

impl ConsoleLine {
    /// The bytes that a line takes of the console limit; an empty one takes some, too.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

/// The reason why a run has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum RunFailure {
    #[error("{0}")]
    Syntax(SyntaxMistake),
    /// An exception that the program did not catch.
    #[error("{}", thrown_message(.message, *.line, *.column))]
    Thrown {
        message: String,
        /// In the program as its author wrote it, one-based.
        line: Option<usize>,
        column: Option<usize>,
        hint: Option<String>,
    },
    #[error("the program returned a value that JSON cannot hold: {reason}")]
    NotJson { reason: String },
    #[error("the program waits for a promise that nothing will settle")]
    Stuck,
    #[error("the program took longer than {}", seconds(.after))]
    TooLong { after: Duration },
    #[error("the program used more than {} of processor time", seconds(.after))]
    TooBusy { after: Duration },
    #[error("the program needed more than {} of memory", size(*.bytes))]
    TooMuchMemory { bytes: usize },
    #[error(
        "the program returned more than {}; return less, such as only the fields that are needed",
        size(*.most)
    )]
    TooMuchOutput { most: usize },
    #[error("the program made more than {most} calls and did not stop when they were rejected")]
    TooManyCalls { most: usize },
    /// The worker died. The gateway and other runs are not affected.
    #[error("the worker of this program ended: {how}")]
    WorkerDied { how: String },
    /// No worker could be started in its jail, so nothing was run.
    #[error("programs cannot run here: {reason}")]
    Unavailable { reason: String },
    #[error("all {workers} workers are busy; try again later")]
    Busy { workers: usize },
}

impl RunFailure {
    /// True if the program failed within its limits, so that the worker can be reused.
    pub(crate) fn leaves_worker_usable(&self) -> bool {
        matches!(
            self,
            Self::Syntax(_)
                | Self::Thrown { .. }
                | Self::NotJson { .. }
                | Self::Stuck
                | Self::TooMuchOutput { .. }
        )
    }
}

fn thrown_message(message: &str, line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: {message}"),
        (Some(line), None) => format!("line {line}: {message}"),
        _ => message.to_owned(),
    }
}

/// Whole seconds, unless there are few of them.
fn seconds(time: &Duration) -> String {
    match time.as_secs() {
        few @ ..5 if time.subsec_millis() > 0 => {
            let tenths = time.subsec_millis() / 100;
            format!("{few}.{tenths} s")
        }
        seconds => format!("{seconds} s"),
    }
}

/// A size in human units: `128 MiB`, `1 MB`.
fn size(bytes: usize) -> String {
    let units = [
        (1 << 20, "MiB"),
        (1_000_000, "MB"),
        (1 << 10, "KiB"),
        (1_000, "kB"),
    ];
    let fitting = units
        .iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    match fitting {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_reported_in_human_units() {
        for (bytes, expected) in [
            (128 << 20, "128 MiB"),
            (1_000_000, "1 MB"),
            (100_000, "100 kB"),
            (4_096, "4 KiB"),
            (1_001, "1001 bytes"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        assert_eq!(seconds(&Duration::from_millis(30_500)), "30 s");
        assert_eq!(seconds(&Duration::from_millis(2_500)), "2.5 s");
        assert_eq!(seconds(&Duration::from_secs(2)), "2 s");
    }
}
