//! Requests to language models.
//!
//! Pure: no I/O, no clock. The caller passes in the day, the record of each model and the function
//! that counts tokens.
//!
//! # Layout
//! - [`tool_schema`]: tool definitions in the form that each vendor's API accepts
//! - [`trim`]: reads a request in a vendor's format and removes the tools it does not need
//! - [`route`]: chooses the model that answers a prompt, and reads its answer

pub mod route;
pub mod tool_schema;
pub mod trim;
