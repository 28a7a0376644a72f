//! The tools that a client is shown, and those that stand in for all the others.
//!
//! # Layout
//! - `tools`: the tools that are always there, as a model reads them
//! - `call`: a call on a surface, to the one of them that answers it
//! - `looking`: those that look around, with their rows in the audit
//! - `own`: reads the arguments of these tools
//! - `code`: `run_code`, and the world that a program sees
//! - `intent`: `run_intent`, the steps of a request in words
//! - `search`, `discover`, `request` (for `call_api`), `batch`, `groups`: one file each
//! - `reach`: a call on a surface, and the tool it led to, for the exam of models
//! - `choice`: the tools that the adaptive surface lists beside them; `shown`: how that list follows
//!   the client
//! - `listed`: the tools and instructions that a client begins with; [`tokens`]: what they cost
//! - `kept`: the rest of a long result, read as a resource; `skills`: skills found and read

pub(crate) mod adaptive_list;
mod batch;
pub(crate) mod call;
mod code;
mod discover;
mod dispatch;
pub(crate) mod eval_call;
mod file_tool_lines;
pub mod find;
mod groups;
mod intent;
mod parse_arguments;
pub(crate) mod remainder_resource;
mod request;
pub(crate) mod sanitize;
mod search;
pub(crate) mod signature;
mod skills;
pub mod tokens;
pub(crate) mod tool_answer;
mod tool_choice;
pub(crate) mod tool_list;
pub(crate) mod tools;
pub mod withheld;

pub use tools::always_on_definitions;
