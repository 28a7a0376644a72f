//! What happened: one line per request that took the road to an upstream.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Caller, Capability};

/// Milliseconds since the Unix epoch. Time is always handed in; nothing here reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Policy said no; the upstream was not asked.
    Denied,
    /// The request was wrong in a way the gateway could see.
    Invalid,
    /// The upstream could not be started or reached, or died.
    Unavailable,
    TimedOut,
    Cancelled,
    /// The upstream needs an answer from the user before it can go on.
    InputRequired,
}

/// Who asked for what, when, how it ended and how long it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub at: Timestamp,
    pub caller: Caller,
    /// What the client calls itself; unverified, for people to read.
    pub client: Option<String>,
    pub capability: Capability,
    pub outcome: Outcome,
    pub latency: Duration,
}

impl Outcome {
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::ToolError,
        Self::Refused,
        Self::Denied,
        Self::Invalid,
        Self::Unavailable,
        Self::TimedOut,
        Self::Cancelled,
        Self::InputRequired,
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
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}
