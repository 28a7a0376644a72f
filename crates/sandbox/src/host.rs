//! A program's only way out: requests to the host, which the gateway answers.

use std::future::Future;

use kitbag_script::ToolPath;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request of a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostRequest {
    /// `search(text)`: the tools for a task.
    Search { text: String, limit: Option<usize> },
    /// `describe(name)`: the typed declaration of one tool.
    Describe { tool: ToolPath },
    /// `call(name, args)` and `tools.server.tool(args)`.
    Call {
        tool: ToolPath,
        arguments: Box<RawValue>,
    },
}

impl HostRequest {
    /// The bytes that the program put into it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Search { text, .. } => text.len(),
            Self::Describe { tool } => name_size(tool),
            Self::Call { tool, arguments } => name_size(tool) + arguments.get().len(),
        }
    }
}

fn name_size(tool: &ToolPath) -> usize {
    match tool {
        ToolPath::Exposed(name) => name.len(),
        ToolPath::Member { server, tool } => server.len() + tool.len(),
    }
}

/// The reason why a request failed, which the program gets as an exception.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// A code that programs can compare, such as `tool_error`, `denied` or `invalid`.
    pub kind: String,
    pub message: String,
    /// The result of the tool, if the tool ran and reported an error.
    pub result: Option<Box<RawValue>>,
}

/// The answer to a request, as JSON.
pub type HostAnswer = Result<Box<RawValue>, HostError>;

/// The host of a program.
pub trait Host: Send + Sync {
    /// Answers one request. A program's simultaneous requests are answered concurrently.
    fn answer(&self, request: HostRequest) -> impl Future<Output = HostAnswer> + Send;

    /// True while a user is being asked: that time is not counted against the program.
    fn waits_for_person(&self) -> bool;
}
