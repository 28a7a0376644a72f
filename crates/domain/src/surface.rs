//! The surfaces: how many of the tools a client is shown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Only the always-on tools.
    #[default]
    Search,
    /// The always-on tools, and a few others that this client is likely to need.
    Adaptive,
    /// For clients that write code instead of calling tools.
    Code,
    /// Every tool, for clients with a tool search of their own.
    All,
}

impl Surface {
    pub const ALL: [Self; 4] = [Self::Search, Self::Adaptive, Self::Code, Self::All];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Adaptive => "adaptive",
            Self::Code => "code",
            Self::All => "all",
        }
    }

    /// True if answers are truncated to fit a model's context. A client that asked for every tool
    /// gets every answer whole, too.
    pub fn truncates_answers(self) -> bool {
        self != Self::All
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a surface; use search, adaptive, code or all")]
pub struct SurfaceError {
    pub name: String,
}

impl FromStr for Surface {
    type Err = SurfaceError;

    fn from_str(name: &str) -> Result<Self, SurfaceError> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
        found.ok_or_else(|| SurfaceError {
            name: name.to_owned(),
        })
    }
}
