//! The real binary in its own home directory.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::programs::{kitbag, testbed};

/// The user's own configuration.
pub const CONFIG: &str = ".config/kitbag/kitbag.toml";

/// An empty home directory.
#[derive(Debug)]
pub struct Home(TempDir);

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct CommandOutcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutcome {
    #[must_use]
    pub fn from_output(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    #[must_use]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(kitbag());
        command
            .args(words)
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .env("COLUMNS", "80");
        command
    }

    pub fn run(&self, words: &[&str]) -> CommandOutcome {
        CommandOutcome::from_output(&self.command(words).output().expect("the binary runs"))
    }

    #[track_caller]
    pub fn ok(&self, words: &[&str]) -> String {
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(0), "{words:?}: {}", outcome.stderr);
        outcome.stdout
    }

    /// Adds the testbed as the server `bed`, and returns the output.
    #[track_caller]
    pub fn add_testbed(&self) -> String {
        let bed = testbed();
        let launch = [bed.as_str(), "--era", "legacy", "stdio"];
        self.ok(&[&["servers", "add", "bed", "--"], &launch[..]].concat())
    }

    #[track_caller]
    pub fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[words, &["--json"]].concat())).expect("JSON on stdout")
    }

    #[track_caller]
    pub fn fails(&self, words: &[&str]) -> String {
        let outcome = self.run(words);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(1), ""),
            "{words:?}"
        );
        outcome.stderr
    }

    /// Parent directories are created.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    pub fn config(&self) -> PathBuf {
        self.path(CONFIG)
    }
}
