//! The environment of one attempt at a task: fresh servers, and the model's surface. The caller
//! creates it, because this crate knows neither gateway nor servers.

use std::future::Future;

use crate::suite::CallArguments;
use crate::surface::EvalSurface;
use crate::tool_result::ToolResult;
use crate::tools::EvalTools;

pub trait TaskEnvironments {
    type Environment: TaskEnvironment;

    /// Creates an environment that no earlier attempt has touched. The error says why it failed.
    fn open(&self, surface: EvalSurface)
    -> impl Future<Output = Result<Self::Environment, String>>;
}

pub trait TaskEnvironment {
    /// Returns the attempt's own directory.
    fn folder(&self) -> &str;

    /// Returns the tools that the surface lists now.
    fn list_tools(&self) -> impl Future<Output = Result<EvalTools, String>>;

    /// Makes a call of the model, as a client of the surface does.
    fn call_tool(&self, tool: String, arguments: CallArguments)
    -> impl Future<Output = ToolResult>;

    /// Makes a call of a solution, by the suite's name for the tool.
    fn call_solution_tool(
        &self,
        tool: String,
        arguments: CallArguments,
    ) -> impl Future<Output = ToolResult>;

    /// Prepares or inspects the servers, by the suite's name for the tool.
    fn call_setup_tool(
        &self,
        tool: String,
        arguments: CallArguments,
    ) -> impl Future<Output = ToolResult>;

    /// Returns the tools called successfully since the last `call_setup_tool`, by the suite's
    /// names.
    fn succeeded_tools(&self) -> impl Future<Output = Vec<String>>;

    /// Stops the servers.
    fn close(self) -> impl Future<Output = ()>;
}
