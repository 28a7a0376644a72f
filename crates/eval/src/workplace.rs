//! The place where one attempt at a task happens: fresh servers, and the surface that the model is
//! shown. The caller makes such places, because this crate knows neither gateway nor servers.

use std::future::Future;

use crate::called::Called;
use crate::suite::CallArguments;
use crate::surface::ExamSurface;
use crate::tools::ExamTools;

pub trait Workplaces {
    type Place: Workplace;

    /// Opens a place that no earlier attempt has touched. The error says why there is none.
    fn open(&self, surface: ExamSurface) -> impl Future<Output = Result<Self::Place, String>>;
}

pub trait Workplace {
    /// Returns the folder that is this attempt's own.
    fn folder(&self) -> &str;

    /// Returns the tools that the surface lists at this moment.
    fn listed(&self) -> impl Future<Output = Result<ExamTools, String>>;

    /// Makes a call of the model, as a client of the surface does.
    fn call(&self, tool: String, arguments: CallArguments) -> impl Future<Output = Called>;

    /// Makes a call of a solution, by the name that the suite has for the tool.
    fn play(&self, tool: String, arguments: CallArguments) -> impl Future<Output = Called>;

    /// Prepares the servers or looks at them, by the name that the suite has for the tool.
    fn arrange(&self, tool: String, arguments: CallArguments) -> impl Future<Output = Called>;

    /// Returns the tools that were called with success since the last `arrange`, by the names that
    /// the suite has for them.
    fn reached(&self) -> impl Future<Output = Vec<String>>;

    /// Ends the servers.
    fn close(self) -> impl Future<Output = ()>;
}
