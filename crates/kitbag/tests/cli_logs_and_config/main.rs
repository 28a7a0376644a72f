//! The commands that show the configuration in force and the logs, and keep secrets out of both.
//!
//! # Layout
//! - [`settings`]: the configuration in force, and secrets on their way into the store
//! - [`trust`]: what a project brings along is in force only after the person said yes
//! - [`logs`]: what servers and the gateway write down

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod logs;
mod settings;
mod trust;
