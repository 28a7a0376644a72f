//! Runs a command of `kitbag` in the folder of a scene.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use xtask::processes;
use xtask::repository::{Profile, Repository};

/// What the command prints, with the configuration and the data of the gateway in this folder.
pub(crate) fn kitbag(
    repository: &Repository,
    folder: &Path,
    words: &[&str],
) -> anyhow::Result<String> {
    let mut command = Command::new(repository.built(Profile::Release, "kitbag"));
    command
        .arg("--config")
        .arg(folder.join("kitbag.toml"))
        .arg("--data-dir")
        .arg(folder.join("data"))
        .args(words);
    let output = command
        .output()
        .with_context(|| format!("starting `{}`", processes::written(&command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` ended with {}: {said}",
            processes::written(&command),
            output.status
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
