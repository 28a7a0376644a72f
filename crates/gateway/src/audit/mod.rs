//! The audit as readers see it, on the command line and over HTTP.
//!
//! # Layout
//! - `line`: a row as programs read it
//! - [`terms`]: the words by which rows are asked for

mod line;
pub mod terms;

pub use line::AuditLine;
