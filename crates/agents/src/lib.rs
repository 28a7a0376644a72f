//! Answers four questions about what coding agents can do, with sources, over MCP.
//!
//! # Layout
//! - [`record`]: the data of one agent; `library`: the data of all agents
//! - `files`, `check`, [`error`]: the files of the data, the rules for them, and their errors
//! - `words`, `wording`, `name_index`, `meaning`: find the name that a user or a model means
//! - `question`, `answers`, `rows`: the four questions and their answers
//! - `tools`: the questions as tools of an MCP server
//! - [`lint`], [`export`]: the age of the sources; the data as a static site

mod answers;
mod check;
pub mod error;
pub mod export;
mod files;
mod library;
pub mod lint;
mod meaning;
mod name_index;
mod question;
pub mod record;
mod rows;
mod tools;
mod wording;
mod words;

pub use answers::AgentAnswers;
pub use error::DataError;
pub use library::{Library, Term};
pub use meaning::{Embed, EmbedSide};
pub use question::Miss;
pub use tools::AgentTool;
