//! What kind of thing a tool does, and how hard it is to call.

mod category;
mod complexity;
mod verbs;

pub use category::{CategorySource, ToolCategory};
pub use complexity::ToolComplexity;
