//! The effect of a tool on the outside world.

use serde::{Deserialize, Serialize};

/// The effect of a call on the outside world, as far as the tool's definition says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteClass {
    Read,
    Write,
    Destructive,
    #[default]
    Unknown,
}

impl WriteClass {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Destructive, Self::Unknown];

    /// Converts MCP's hints. Without hints the class is unknown.
    pub fn from_hints(read_only: Option<bool>, destructive: Option<bool>) -> Self {
        match (read_only, destructive) {
            (Some(true), _) => Self::Read,
            (_, Some(true)) => Self::Destructive,
            (Some(false), _) | (_, Some(false)) => Self::Write,
            (None, None) => Self::Unknown,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Unknown => "unknown",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}
