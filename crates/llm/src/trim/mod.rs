//! Reads requests to models as vendors define them, and trims the tools in them.
//!
//! A request stays the text that arrived. Reading marks where its tools stand, and writing it with
//! fewer tools cuts those out, so that every other byte reaches the vendor as the client sent it.
//!
//! # Layout
//! - [`ModelApi`]: the APIs whose tools are trimmed
//! - [`ModelRequest`]: a request that was read; `dialect`: the messages of each API
//! - [`Dialogue`]: what was said in a request so far
//! - [`ListedTool`]: one tool of a request; [`own_name()`]: the names that clients give our tools
//! - [`Mentions`]: the names of tools in a text
//! - [`ConversationMemory`]: the tools that stay, from request to request
//! - `splice`: the request with fewer tools; `shared_words`: tools that are not ours, by their words

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
