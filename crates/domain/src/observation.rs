//! The record of a request that went through the pipeline: one line for each.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{CallCost, Caller, Capability, Origin, RecordedArguments, ShortText};

/// Milliseconds since the Unix epoch. Time is always handed in; nothing here reads a clock.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The upstream answered, and the answer is a success.
    Ok,
    /// The tool ran and reported an error of its own (`isError`).
    ToolError,
    /// The upstream answered with a protocol error.
    Refused,
    /// Policy refused it; the upstream was not asked.
    Denied,
    /// The request was wrong in a way the gateway could see.
    Invalid,
    /// The upstream could not be started or reached, or died.
    Unavailable,
    TimedOut,
    Cancelled,
    /// The upstream needs an answer from the user before it can go on.
    InputRequired,
    /// Policy permitted it, and its end has not been recorded yet, or never was because the gateway
    /// died meanwhile.
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
    /// The name that the client gave itself; unverified, for people to read.
    pub client: Option<ShortText>,
    pub origin: Origin,
    pub purpose: Purpose,
    /// With a name that is short enough to be kept; see [`Capability::shortened`].
    pub capability: Capability,
    pub outcome: Outcome,
    pub latency: Duration,
    pub cost: CallCost,
    /// Absent unless the operator wants arguments on record.
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
