//! The place where one attempt at a task happens: fresh servers, and the surface that the model is
//! shown. The caller makes such places, because this crate knows neither gateway nor servers.

use std::future::Future;

use crate::suite::CallArguments;
use crate::surface::EvalSurface;
use crate::tool_result::ToolResult;
use crate::tools::EvalTools;

pub trait TaskEnvironments {
    type Environment: TaskEnvironment;

    /// Opens a place that no earlier attempt has touched. The error says why there is none.
    fn open(&self, surface: EvalSurface)
    -> impl Future<Output = Result<Self::Environment, String>>;
}

pub trait TaskEnvironment {
    /// Returns the folder that is this attempt's own.
    fn folder(&self) -> &str;

    /// Returns the tools that the surface lists at this moment.
    fn list_tools(&self) -> impl Future<Output = Result<EvalTools, String>>;

    /// Makes a call of the model, as a client of the surface does.
    fn call_tool(&self, tool: String, arguments: CallArguments)
    -> impl Future<Output = ToolResult>;

    /// Makes a call of a solution, by the name that the suite has for the tool.
    fn call_solution_tool(
        &self,
        tool: String,
        arguments: CallArguments,
    ) -> impl Future<Output = ToolResult>;

    /// Prepares the servers or looks at them, by the name that the suite has for the tool.
    fn call_setup_tool(
        &self,
        tool: String,
        arguments: CallArguments,
    ) -> impl Future<Output = ToolResult>;

    /// Returns the tools that were called with success since the last `arrange`, by the names that
    /// the suite has for them.
    fn succeeded_tools(&self) -> impl Future<Output = Vec<String>>;

    /// Ends the servers.
    fn close(self) -> impl Future<Output = ()>;
}
