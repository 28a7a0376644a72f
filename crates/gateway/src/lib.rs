//! The proxy: receives requests, runs each through the modules in order, and answers.

#![expect(
    missing_debug_implementations,
    reason = "most types of a gateway lead to secrets, so they are not printable"
)]

pub mod admin;
pub mod call;
pub mod catalog;
pub mod front;
pub mod index;
pub mod learning;
mod models;
pub mod secrets;
pub mod state;
pub mod surface;
pub mod telemetry;
pub mod turn;
