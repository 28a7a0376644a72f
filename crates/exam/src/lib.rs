//! Puts prompts and tools before a model, has its calls made, and says how well it chose.
//!
//! The room knows neither the gateway nor a server: tools come in as definitions, calls go out
//! through a function that whoever runs the exam hands in, and so does the way tokens are counted.
//!
//! # Layout
//! - [`suite`]: the prompts and what is expected of them, read from a file
//! - [`tools`]: the tools of the suite; [`surface`]: what of them the model is shown, and what its
//!   calls there come to
//! - [`endpoint`]: where a model is asked; `access`: as whom; `dialect`: in whose format;
//!   [`client`]: over HTTP, with patience; `pace`: and not too fast
//! - [`exam`]: every prompt to every model; `attempt`: one of them; [`judge`]: was it right
//! - [`rehearsal`]: the suite against the server, without a model
//! - [`journal`]: what is answered already, in a file, so that nothing is paid for twice
//! - [`report`]: the figures; [`page`]: the same as a page with charts

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
pub use client::{Client, EndpointError, Patience};
pub use dialect::{Given, Stop, Usage};
pub use endpoint::{BadEndpoint, Endpoint, Obstacle};
pub use exam::{Candidate, Exam, Sat, Standing, Stopped};
pub use journal::{Journal, JournalError, Record};
pub use judge::Outcome;
pub use report::{Price, Report};
pub use suite::{Suite, SuiteError};
pub use surface::{Carried, Reached, Shown, Surface};
pub use tools::{Called, Tool, Tools};
