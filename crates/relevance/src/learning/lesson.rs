//! A lesson: one observation of a tool in a context.

use std::sync::Arc;

use kitbag_domain::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The exposed name, as in [`IndexedTool::tool_name`](crate::IndexedTool).
    pub tool: String,
    /// The unit vector of the request that led to the call, or of the call's arguments.
    pub context: Arc<[f32]>,
    pub signal: Signal,
    pub at: Timestamp,
    /// A hash that identifies the session.
    pub session: u64,
    /// The row in the store, which explanations refer to.
    pub id: i64,
}

/// How a tool did in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A search returned the tool, and the client called it.
    FoundThenUsed,
    /// The request came with the call, or the call's arguments agree with it.
    SaidThenUsed,
    /// The client called it some time after a request. Earlier versions treated that as a link. It
    /// is not evidence of one, so these lessons have no weight.
    Used,
    /// The client called it without a request linked to the call; the context is the arguments.
    UsedWithoutWords,
    /// The client was shown the tool and called another one.
    Bypassed,
    Failed,
    /// The client called it and immediately switched to another tool.
    Abandoned,
    /// A person said that the tool is right for the request.
    MarkedRight,
    /// A person said that the tool is wrong for the request.
    MarkedWrong,
}

impl Signal {
    pub const ALL: [Self; 9] = [
        Self::FoundThenUsed,
        Self::SaidThenUsed,
        Self::Used,
        Self::UsedWithoutWords,
        Self::Bypassed,
        Self::Failed,
        Self::Abandoned,
        Self::MarkedRight,
        Self::MarkedWrong,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::FoundThenUsed => "found_then_used",
            Self::SaidThenUsed => "said_then_used",
            Self::Used => "used",
            Self::UsedWithoutWords => "used_without_words",
            Self::Bypassed => "bypassed",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
            Self::MarkedRight => "marked_right",
            Self::MarkedWrong => "marked_wrong",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.as_str() == text)
    }

    /// True if the tool was called successfully.
    pub fn is_use(self) -> bool {
        matches!(
            self,
            Self::FoundThenUsed | Self::SaidThenUsed | Self::Used | Self::UsedWithoutWords
        )
    }

    /// True if it speaks for the tool.
    pub(super) fn is_favourable(self) -> bool {
        self.is_use() || self == Self::MarkedRight
    }

    /// True if there was evidence that the context led to the call.
    pub(super) fn is_linked(self) -> bool {
        self != Self::Used
    }

    /// The weight of a new lesson. A search that led to the call weighs most, because its query was
    /// written to find the tool. A failure cancels a use, so a tool that works every second time
    /// gains nothing.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::FoundThenUsed => 1.5,
            Self::SaidThenUsed => 1.0,
            Self::Used => 0.0,
            Self::UsedWithoutWords => 0.5,
            Self::Bypassed => -0.2,
            Self::Failed => -1.0,
            Self::Abandoned => -0.5,
            // A person who judges a result is rarer and surer than a use: two searches that led to
            // a call.
            Self::MarkedRight => 3.0,
            Self::MarkedWrong => -3.0,
        }
    }
}
