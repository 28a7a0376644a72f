//! Runs the same cargo that started this task.

use std::process::Command;

use crate::processes;
use crate::repository::Repository;

pub fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    processes::run(&mut command(repository, arguments))
}

pub fn command(repository: &Repository, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).current_dir(repository.root());
    cargo
}

/// Builds everything that tests and the conformance suite start.
pub fn build_programs(repository: &Repository) -> anyhow::Result<()> {
    run(
        repository,
        &["build", "--workspace", "--bins", "--examples"],
    )
}
