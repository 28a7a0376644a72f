//! Runs a `kitbag` command in the directory of a scene.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use xtask::processes;
use xtask::repository::{Profile, Repository};

/// Returns the output of the command, with the configuration and data of the gateway in this
/// directory.
pub(crate) fn kitbag(
    repository: &Repository,
    folder: &Path,
    words: &[&str],
) -> anyhow::Result<String> {
    let mut command = Command::new(repository.program_path(Profile::Release, "kitbag"));
    command
        .arg("--config")
        .arg(folder.join("kitbag.toml"))
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(words);
    let output = command
        .output()
        .with_context(|| format!("starting `{}`", processes::command_line(&command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` ended with {}: {said}",
            processes::command_line(&command),
            output.status
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
