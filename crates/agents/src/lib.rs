//! What coding agents can do, with sources: four questions, answered over MCP.
//!
//! # Layout
//! - [`record`]: what is written down about one agent; `library`: all of it together
//! - `files`, `check`, [`error`]: where it comes from, the rules it keeps, and what can be wrong
//! - `words`, `names`, `meaning`: from what somebody says to what is meant
//! - `asked`, `answers`, `rows`: the four questions and their answers
//! - `tools`, [`serve()`]: the same as tools, and as an MCP server
//! - [`lint`], [`export`]: how old it is; the whole as a static site

mod answers;
mod asked;
mod check;
pub mod error;
pub mod export;
mod files;
mod library;
pub mod lint;
mod meaning;
mod names;
pub mod record;
mod rows;
mod serve;
mod tools;
mod words;

pub use answers::Answers;
pub use asked::Miss;
pub use error::DataError;
pub use library::{Library, Term};
pub use meaning::{Embed, Side};
pub use serve::serve;
pub use tools::{Told, Tool};
