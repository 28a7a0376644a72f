//! Requests to language models.
//!
//! Pure: no I/O, no clock. The caller passes the day, the record of each model and the function
//! that counts tokens.
//!
//! # Layout
//! - [`tool_schema`]: tool definitions in the form accepted by each vendor's API
//! - [`trim`]: parses a vendor's request and removes unneeded tools
//! - [`route`]: chooses the model for a prompt, and parses its answer

pub mod route;
pub mod tool_schema;
pub mod trim;
