//! What a person can find out: what is in force, what was written down, and that no secret is told.
//!
//! # Layout
//! - [`settings`]: the configuration in force, and secrets on their way into the store
//! - [`trust`]: what a project brings along is in force only after the person said yes
//! - [`logs`]: what servers and the gateway write down

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

#[path = "../home/mod.rs"]
mod home;
mod logs;
mod settings;
mod trust;
