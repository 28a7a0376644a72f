//! Calls of tools from tool files.
//!
//! - `target`: the action that the arguments select, and its validation
//! - `run_action`: the action, with the credential of the caller's tenant
//! - `ask_models`: an action that a language model performs; `attempt`: one request to a model
//! - `failure`: the reason why there is no answer

mod ask_models;
mod attempt;
mod failure;
mod run_action;
mod target;

pub(crate) use run_action::run_action;
pub(crate) use target::ToolFileTarget;
