//! A call of a tool that comes from a file.
//!
//! - `target`: the action that the arguments choose, and the check of its arguments
//! - `carry_out`: the action, with the credential of the caller's tenant

mod carry_out;
mod target;

pub(crate) use carry_out::carry_out;
pub(crate) use target::DeclaredTarget;
