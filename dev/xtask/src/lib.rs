//! Parts of the development tasks that benchmarks and repository tests share.

#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

pub mod cargo;
pub mod postgres;
pub mod processes;
pub mod repository;
pub mod scene;
pub mod setup;
