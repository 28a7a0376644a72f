//! The tools that a model is shown, and the results of its calls there.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::suite::CallArguments;
use crate::tool_result::ToolResult;
use crate::tools::EvalTools;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalSurface {
    /// Every tool, each called by its own name.
    #[default]
    All,
    /// A few tools that find and call all others, in several turns.
    Search,
    /// The same and some others, which follow what the model finds and uses.
    Adaptive,
    /// The tools that run programs, which call all others.
    Code,
}

/// A surface as models are shown it.
#[derive(Debug, Clone, Copy)]
pub struct ShownSurface<'a> {
    pub surface: EvalSurface,
    /// The tools in the request.
    pub tools: &'a EvalTools,
    /// The number of answers that a model may give to a prompt.
    pub max_turns: u32,
    /// The number of answers that a model may give for a task.
    pub task_turns: u32,
}

/// The result of a model's call.
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceResult {
    /// The text of the result that the model reads.
    pub text: String,
    pub failed: bool,
    /// The tool call that it led to; `None` if the model only searched.
    pub reached: Option<ReachedCall>,
}

/// A tool call, which is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ReachedCall {
    /// The tool's name in the suite, if the suite has the tool.
    pub tool: String,
    /// The arguments that the server got.
    pub arguments: CallArguments,
    pub called: ToolResult,
    /// The number of further calls that the model requested with this one and that were not made.
    pub extra_calls: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown surface `{name}`; known: all (every tool), search (the tools that find and call others), adaptive (those and a list that follows the model) and code (the tools that run programs)"
)]
pub struct UnknownSurface {
    pub name: String,
}

impl EvalSurface {
    pub const ALL: [Self; 4] = [Self::All, Self::Search, Self::Adaptive, Self::Code];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Search => "search",
            Self::Adaptive => "adaptive",
            Self::Code => "code",
        }
    }

    /// True if prompts are tested on the surface, where a model's first call is judged.
    pub fn judges_first_calls(self) -> bool {
        matches!(self, Self::All | Self::Search)
    }
}

impl<'a> ShownSurface<'a> {
    /// For a prompt, a model that is shown every tool may make a call, and another one after an
    /// error.
    pub fn new(
        surface: EvalSurface,
        tools: &'a EvalTools,
        max_turns: u32,
        task_turns: u32,
    ) -> Self {
        let is_all = surface == EvalSurface::All;
        Self {
            surface,
            tools,
            max_turns: if is_all { 2 } else { max_turns },
            task_turns,
        }
    }
}

impl SurfaceResult {
    /// Returns the result of a direct call of the tool that the model named.
    pub fn from_direct_call(tool: String, arguments: CallArguments, called: ToolResult) -> Self {
        let (text, failed) = (called.text.clone(), called.failed);
        Self {
            text,
            failed,
            reached: Some(ReachedCall {
                tool,
                arguments,
                called,
                extra_calls: 0,
            }),
        }
    }

    /// Returns the result of a call that reached no tool, because its arguments could not be
    /// parsed.
    pub(crate) fn for_unreadable_arguments(text: String) -> Self {
        Self {
            text,
            failed: true,
            reached: None,
        }
    }
}

impl fmt::Display for EvalSurface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EvalSurface {
    type Err = UnknownSurface;

    fn from_str(name: &str) -> Result<Self, UnknownSurface> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
        found.ok_or_else(|| UnknownSurface {
            name: name.to_owned(),
        })
    }
}
