//! The real binary in a home of its own.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The person's own configuration.
pub(crate) const CONFIG: &str = ".config/kitbag/kitbag.toml";

/// A person's home of its own, with nothing in it.
pub(crate) struct Home(TempDir);

pub(crate) struct Told {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kitbag"));
        command
            .args(words)
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .env("COLUMNS", "80");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Told {
        let output = self.command(words).output().expect("the binary runs");
        Told {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let told = self.run(words);
        assert_eq!(told.code, Some(0), "{words:?}: {}", told.stderr);
        told.stdout
    }

    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[words, &["--json"]].concat())).expect("JSON on stdout")
    }

    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> String {
        let told = self.run(words);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(1), ""),
            "{words:?}"
        );
        told.stderr
    }

    /// Folders on the way are made.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path(CONFIG)
    }
}
