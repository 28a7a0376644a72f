//! A call of a tool that comes from a file.
//!
//! - `target`: the action that the arguments choose, and the check of its arguments
//! - `carry_out`: the action, with the credential of the caller's tenant
//! - `ask_models`: an action that a language model carries out; `attempt`: one model that is asked
//! - `refusal`: the reason why there is no answer

mod ask_models;
mod attempt;
mod carry_out;
mod refusal;
mod target;

pub(crate) use carry_out::run_action;
pub(crate) use target::ToolFileTarget;
