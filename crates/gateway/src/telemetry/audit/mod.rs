//! The audit: rows for searches, recorded arguments, and the form in which readers get rows. Calls
//! are recorded in `call::record`.
//!
//! # Layout
//! - `line`: a row as JSON and CSV
//! - `arguments`: arguments as they are recorded; `queries`: rows for searches
//! - [`filters`]: the filter values of `kitbag audit` and `/v1/audit`; [`parameters`]: all
//!   parameters of `/v1/audit`
//! - [`limited_read`]: reads a page in limited time; [`preceding_searches`]: the searches before a call

pub(crate) mod arguments;
pub mod filters;
pub mod limited_read;
mod line;
pub mod parameters;
pub mod preceding_searches;
pub(crate) mod queries;

pub use line::AuditLine;
