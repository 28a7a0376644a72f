//! Calls of tools from tool files.
//!
//! - `target`: the action that the arguments select, and its validation
//! - `carry_out`: the action, with the credential of the caller's tenant
//! - `ask_models`: an action that a language model performs; `attempt`: one request to a model
//! - `refusal`: the reason why there is no answer

mod ask_models;
mod attempt;
mod carry_out;
mod refusal;
mod target;

pub(crate) use carry_out::run_action;
pub(crate) use target::ToolFileTarget;
