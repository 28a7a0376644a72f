//! The tools that a client sees, and the always-on tools that give access to all others.
//!
//! # Layout
//! - `tools`: definitions of the always-on tools
//! - `call`: dispatches a call to an always-on tool or a server's tool
//! - `dispatch`: searches and lookups, with their audit rows
//! - `parse_arguments`: parses the arguments of the always-on tools
//! - `code`: `run_code`, and the host functions of a program
//! - `intent`: `run_intent`, step by step
//! - `search`, `discover`, `request` (for `call_api`), `batch`, `groups`: one file each; `find`:
//!   the search itself
//! - `eval_call`: a call on a surface, and the tool to which it led, for evals of models
//! - `tool_choice`: the tools that the adaptive surface lists; `adaptive_list`: how that list
//!   follows the client
//! - `tool_list`: the tools and instructions that a client begins with; [`tokens`]: their cost
//! - `tool_answer`: answers truncated, annotated and counted; `sanitize`: servers' text for models;
//!   `remainder_resource`: remainders as resources
//! - `withheld`: counts the tools that a search withheld; `skills`: finds and reads skills;
//!   `file_tool_lines`, `signature`: tools from tool files and HTTP APIs as lines

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
pub mod intent;
mod parse_arguments;
pub(crate) mod remainder_resource;
mod request;
pub(crate) mod sanitize;
pub(crate) mod search;
pub(crate) mod signature;
mod skills;
pub mod tokens;
pub(crate) mod tool_answer;
mod tool_choice;
pub(crate) mod tool_list;
pub(crate) mod tools;
pub mod withheld;

pub use tools::always_on_definitions;
