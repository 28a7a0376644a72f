//! Sends prompts and tools to a model, makes its calls, and measures how well it chose.
//!
//! The crate knows neither the gateway nor a server. The caller passes in the tools as definitions,
//! the function that makes the calls, and the function that counts tokens.
//!
//! # Layout
//! - [`suite`]: prompts and expected calls, read from a file
//! - [`tools`]: the tools of the suite; `tool_result`: the result of a tool; [`surface`]: the
//!   model's tools, and the results of its calls there
//! - [`endpoint`]: the URL of a model; `access`: key and headers; `dialect`: formats; [`client`]:
//!   HTTP requests with retries; `endpoint_error`: their errors; `rate_limit`: their rate
//! - `task_attempt`: one task for one model; [`environment`]: the fresh servers of an attempt;
//!   `end_state`: judges its end
//! - [`eval_run`]: every prompt for every model; `progress`: the results so far; `prompt_attempt`:
//!   one prompt for one model; [`judge`]: the verdict; `matching`: comparison of values
//! - [`rehearsal`]: the suite against the server, without a model
//! - [`record`]: the answer of a model; [`journal`]: stored answers, so that none is paid for twice
//! - [`report`]: figures; [`page`]: figures as a page with charts

mod access;
pub mod client;
mod dialect;
mod end_state;
pub mod endpoint;
mod endpoint_error;
pub mod environment;
pub mod eval_run;
pub mod journal;
pub mod judge;
mod matching;
pub mod page;
mod progress;
mod prompt_attempt;
mod rate_limit;
pub mod record;
pub mod rehearsal;
pub mod report;
pub mod suite;
pub mod surface;
mod task_attempt;
mod tool_result;
pub mod tools;

pub use access::Access;
pub use client::{ModelClient, RequestLimits};
pub use dialect::{GivenArguments, StopReason, Usage};
pub use endpoint::{EndpointParseError, ModelEndpoint, ToolObstacles};
pub use endpoint_error::ModelEndpointError;
pub use environment::{TaskEnvironment, TaskEnvironments};
pub use eval_run::{EvalCandidate, EvalRun};
pub use journal::{EvalJournal, JournalError};
pub use judge::ChoiceOutcome;
pub use progress::{EvalError, EvalProgress, EvalResults, UnansweredQuestion};
pub use record::Record;
pub use report::{EvalReport, Price};
pub use suite::{Suite, SuiteError, WORKSPACE};
pub use surface::{EvalSurface, ReachedCall, ShownSurface, SurfaceResult};
pub use tool_result::ToolResult;
pub use tools::{EvalTool, EvalTools};
