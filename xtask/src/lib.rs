//! The parts of the chores that the benchmarks and the tests of the repository use, too.

#![expect(
    clippy::print_stdout,
    reason = "a chore talks to the person who runs it"
)]

pub mod cargo;
pub mod postgres;
pub mod processes;
pub mod repository;
pub mod scene;
pub mod setup;
pub mod shape;
