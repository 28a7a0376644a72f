//! Parses requests to models in the vendors' formats, and trims their tools.
//!
//! A request stays the text that arrived. Parsing locates its tools, and trimming cuts some out, so
//! that every other byte reaches the vendor as the client sent it.
//!
//! # Layout
//! - [`ModelApi`]: the APIs whose tools are trimmed
//! - [`ModelRequest`]: a parsed request; `dialect`: the messages of each API
//! - [`Dialogue`]: the conversation in a request so far
//! - [`ListedTool`]: one tool of a request; `client_prefix`: the names of Kitbag's tools in clients
//! - [`Mentions`]: tool names in a text
//! - [`ConversationMemory`]: the tools that stay, from request to request
//! - `splice`: the request with fewer tools; `shared_words`: other servers' tools, ranked by words

mod api;
mod client_prefix;
mod dialect;
mod dialogue;
mod listed_tool;
mod memory;
mod mentions;
mod request;
mod shared_words;
mod splice;
#[cfg(test)]
mod tests;

pub use api::ModelApi;
pub use client_prefix::strip_client_prefix;
pub use dialogue::Dialogue;
pub use listed_tool::ListedTool;
pub use memory::{ConversationMemory, DialogueUpdate, SelectedTools, ToolNeeds};
pub use mentions::Mentions;
pub use request::ModelRequest;
pub use shared_words::rank_by_shared_words;
