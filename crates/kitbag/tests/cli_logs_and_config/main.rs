//! Commands that show the effective configuration and the logs, and keep secrets out of both.
//!
//! # Layout
//! - [`settings`]: the effective configuration, and storing secrets
//! - [`trust`]: a project's file is inactive until it is trusted
//! - [`logs`]: logs of servers and the gateway

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod logs;
mod settings;
mod trust;
