//! The audit: rows for searches, recorded arguments, and the form in which readers get rows. Calls
//! are recorded in `call::record`.
//!
//! # Layout
//! - `line`: a row as JSON and CSV
//! - `arguments`: arguments as they are recorded; `queries`: rows for searches
//! - [`filters`]: the filter values of `kitbag audit` and `/v1/audit`

pub(crate) mod arguments;
pub mod filters;
mod line;
pub(crate) mod queries;

pub use line::AuditLine;
