//! A tool in about ten tokens: its name, the kind of thing it does, and the difficulty of calling it.

mod category;
mod complexity;
mod verbs;

pub use category::{CategorySource, ToolCategory};
pub use complexity::ToolComplexity;
