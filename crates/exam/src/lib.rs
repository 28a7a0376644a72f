//! Sends prompts and tools to a model, has its calls made, and measures how well it chose.
//!
//! The crate knows neither the gateway nor a server. The caller passes in the tools as definitions,
//! the function that makes the calls, and the function that counts tokens.
//!
//! # Layout
//! - [`suite`]: the prompts and the expected calls, read from a file
//! - [`tools`]: the tools of the suite; [`surface`]: the tools that the model is shown, and the
//!   results of its calls there
//! - [`endpoint`]: the address of a model; `access`: the key and the headers; `dialect`: the
//!   format; [`client`]: the requests over HTTP, with retries; `pace`: the limit on their rate
//! - [`exam`]: every prompt to every model; `attempt`: one prompt to one model; [`judge`]: the
//!   verdict
//! - [`rehearsal`]: the suite against the server, without a model
//! - [`journal`]: the answers so far, in a file, so that no answer is paid for twice
//! - [`report`]: the figures; [`page`]: the figures as a page with charts

mod access;
mod attempt;
pub mod client;
mod dialect;
pub mod endpoint;
pub mod exam;
pub mod journal;
pub mod judge;
mod pace;
pub mod page;
pub mod rehearsal;
pub mod report;
pub mod suite;
pub mod surface;
pub mod tools;

pub use access::Access;
pub use client::{ModelClient, ModelEndpointError, RequestLimits};
pub use dialect::{GivenArguments, Stop, Usage};
pub use endpoint::{BadEndpoint, ModelEndpoint, ToolObstacle};
pub use exam::{Exam, ExamCandidate, ExamProgress, Sat, Stopped};
pub use journal::{ExamJournal, JournalError, Record};
pub use judge::ChoiceOutcome;
pub use report::{ExamReport, Price};
pub use suite::{Suite, SuiteError};
pub use surface::{Carried, ExamSurface, ReachedCall, ShownSurface};
pub use tools::{Called, ExamTool, ExamTools};
