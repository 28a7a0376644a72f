//! Opens the doors, carries each request through the rooms in order, and tells people what happened.

pub mod app;
mod background;
mod bridge;
mod catalog;
pub mod cli;
pub mod config;
mod failure;
mod front;
mod index;
mod login;
pub mod meter;
mod pipeline;
mod providers;
mod rooms;
mod schema;
pub mod search;
mod secret;
mod session;
mod signature;
pub mod surface;
mod sync;
mod tasks;
mod template;
mod turn;
mod vault;
