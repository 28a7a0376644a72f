//! The homes, programs and documents that the tests of several crates share.
//!
//! # Layout
//! - [`cases`]: loops that name the case that failed
//! - [`home`]: a person's home, in which the real binary runs
//! - [`programs`]: the programs that were built beside the test
//! - [`processes`]: signals, and which processes run
//! - [`postgres`]: a PostgreSQL server that a test may break
//! - [`guide`]: the documents of the repository; [`transcript`]: the terminals that they show
//! - [`shelf`]: a registry of MCP servers; [`vendor`]: the service of a vendor of models
//! - [`scripted_model`]: scripts in place of a model, good and bad ones
//! - [`site`]: a site over HTTPS; [`pixels`]: the colours of a picture

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

pub mod cases;
pub mod guide;
pub mod home;
pub mod pixels;
pub mod postgres;
pub mod processes;
pub mod programs;
pub mod scripted_model;
pub mod shelf;
pub mod site;
pub mod transcript;
pub mod vendor;
