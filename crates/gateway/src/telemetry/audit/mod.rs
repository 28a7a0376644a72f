//! The audit: what goes into it beside calls, and how readers see it on the command line and over HTTP.
//!
//! # Layout
//! - `line`: a row as programs read it
//! - `arguments`: the part of arguments that goes on record; `inquiries`: the record of searches
//! - [`terms`]: the words by which rows are asked for

pub(crate) mod arguments;
pub(crate) mod inquiries;
mod line;
pub mod terms;

pub use line::AuditLine;
