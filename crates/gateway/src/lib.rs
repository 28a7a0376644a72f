//! The proxy: receives requests, runs each through the modules in order, and answers.

#![expect(
    missing_debug_implementations,
    reason = "most of what the program holds of a gateway leads to secrets, and none of it is printed"
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
