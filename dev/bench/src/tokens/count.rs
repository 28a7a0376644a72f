//! Counts tokens with the vocabulary of `kitbag-budget`, through its example program.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, bail};
use serde_json::json;
use xtask::repository::{Profile, Repository};

/// The tokens of each text.
pub(crate) fn count(repository: &Repository, texts: &[String]) -> anyhow::Result<Vec<usize>> {
    let mut command = Command::new(repository.program_path(Profile::Release, "examples/count"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting `count`")?;
    let mut stdin = child.stdin.take().context("stdin is not a pipe")?;
    let lines: String = texts
        .iter()
        .map(|text| format!("{}\n", json!(text)))
        .collect();
    // Concurrent with reading: neither side may wait for the other to empty a full pipe.
    let writing = thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    if !output.status.success() || writing.join().is_err() {
        bail!("`count` ended with {}", output.status);
    }
    let counts = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::parse)
        .collect::<Result<Vec<_>, _>>()?;
    if counts.len() != texts.len() {
        bail!("`count` counted {} of {} texts", counts.len(), texts.len());
    }
    Ok(counts)
}
