//! Homes, programs and documents for the tests of several crates.
//!
//! # Layout
//! - [`cases`]: loops that name the case that failed
//! - [`home`]: a home directory in which the real binary runs
//! - [`programs`]: programs built next to the test
//! - [`processes`]: signals, and running processes
//! - [`postgres`]: a PostgreSQL server that a test may break
//! - [`guide`]: the documents of the repository; [`transcript`]: their terminal transcripts
//! - [`test_registry`]: a registry of MCP servers; [`vendor`]: the service of a model vendor
//! - [`scripted_model`]: good and bad scripts in place of a model
//! - [`site`]: an HTTPS site; [`pixels`]: colours in an image

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

pub mod cases;
pub mod guide;
pub mod home;
pub mod pixels;
pub mod postgres;
pub mod processes;
pub mod programs;
pub mod scripted_model;
pub mod site;
pub mod test_registry;
pub mod transcript;
pub mod vendor;
