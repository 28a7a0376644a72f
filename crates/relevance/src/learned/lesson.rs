//! One observation of a tool in a context: the smallest thing that is learned from.

use std::sync::Arc;

use kitbag_domain::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The name that clients call, as in [`IndexedTool::tool_name`](crate::IndexedTool).
    pub tool: String,
    /// The vector, of length one, of the words that led to the call, or of the call's arguments.
    pub context: Arc<[f32]>,
    pub signal: Signal,
    pub at: Timestamp,
    /// Tells sessions apart; a hash, so that it says nothing about them.
    pub session: u64,
    /// The row in the store, by which an explanation names the lesson.
    pub id: i64,
}

/// The observed end of a tool in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A search found the tool, and the client called it.
    FoundThenUsed,
    /// The words came with the call, or its arguments agree with them.
    SaidThenUsed,
    /// The client called it some time after the words. Earlier versions took that for a link; it shows
    /// none, so these lessons say only that the tool was used.
    Used,
    /// The client called it, and no words are shown to have led to it; the context is the arguments alone.
    UsedWithoutWords,
    /// The client was shown the tool and called another one.
    Bypassed,
    Failed,
    /// The client called it and at once turned to another tool.
    Abandoned,
}

impl Signal {
    pub const ALL: [Self; 7] = [
        Self::FoundThenUsed,
        Self::SaidThenUsed,
        Self::Used,
        Self::UsedWithoutWords,
        Self::Bypassed,
        Self::Failed,
        Self::Abandoned,
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
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.as_str() == text)
    }

    /// True if the tool was called with success.
    pub fn is_use(self) -> bool {
        matches!(
            self,
            Self::FoundThenUsed | Self::SaidThenUsed | Self::Used | Self::UsedWithoutWords
        )
    }

    /// True if something showed that the context led to the call.
    pub(super) fn is_linked(self) -> bool {
        self != Self::Used
    }

    /// The weight of a fresh lesson. A search with the call it led to says most, because its words
    /// were written to find the tool. A failure weighs as much as a use, so that a tool that works
    /// every second time gains nothing.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::FoundThenUsed => 1.5,
            Self::SaidThenUsed => 1.0,
            Self::Used => 0.0,
            Self::UsedWithoutWords => 0.5,
            Self::Bypassed => -0.2,
            Self::Failed => -1.0,
            Self::Abandoned => -0.5,
        }
    }
}
