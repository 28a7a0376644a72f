//! The audit record of a request that went through the pipeline.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{CallCost, Caller, Capability, Origin, RecordedArguments, ShortText};

/// Milliseconds since the Unix epoch. Time is always passed in; nothing here reads a clock.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The server answered with a success.
    Ok,
    /// The tool ran and reported an error of its own (`isError`).
    ToolError,
    /// The server answered with a protocol error.
    Refused,
    /// Policy denied it; the server was not asked.
    Denied,
    /// The request was invalid in a way the gateway could detect.
    Invalid,
    /// The server could not be started or reached, or ended.
    Unavailable,
    TimedOut,
    Cancelled,
    /// The server needs an answer from the user before it can go on.
    InputRequired,
    /// Policy permitted it, and its end has not been recorded yet, or never was because the gateway
    /// crashed.
    Unfinished,
}

/// The purpose of a call. Calls of a measurement do not count as use of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Purpose {
    #[default]
    Use,
    Measurement,
}

/// The caller, the capability, the time, the outcome and the latency of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub at: Timestamp,
    pub caller: Caller,
    /// The client's own name; unverified, for people to read.
    pub client: Option<ShortText>,
    pub origin: Origin,
    pub purpose: Purpose,
    /// With a name short enough for records; see [`Capability::into_shortened`].
    pub capability: Capability,
    pub outcome: Outcome,
    pub latency: Duration,
    pub cost: CallCost,
    /// `None` unless the operator wants arguments to be recorded.
    pub arguments: Option<RecordedArguments>,
}

impl Outcome {
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::ToolError,
        Self::Refused,
        Self::Denied,
        Self::Invalid,
        Self::Unavailable,
        Self::TimedOut,
        Self::Cancelled,
        Self::InputRequired,
        Self::Unfinished,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::InputRequired => "input_required",
            Self::Unfinished => "unfinished",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }
}

impl Purpose {
    pub const ALL: [Self; 2] = [Self::Use, Self::Measurement];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Measurement => "measurement",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|purpose| purpose.as_str() == text)
    }
}
