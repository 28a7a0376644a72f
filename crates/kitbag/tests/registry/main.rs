//! Servers out of the registry, through the real binary and a registry of our own.
//!
//! # Layout
//! - [`finding`]: the registry is searched
//! - [`adding`]: an entry becomes a server
//! - [`consent`]: a person is asked before it runs

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod adding;
mod consent;
mod finding;
#[path = "../../../registry/tests/registry/shelf.rs"]
mod shelf;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use self::shelf::Shelf;

/// A home beside a registry, in which no program is installed but what a test puts there.
struct RegistryHome {
    folder: TempDir,
    shelf: Shelf,
}

/// What a command printed, and its exit code.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl RegistryHome {
    async fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
            shelf: Shelf::open().await,
        };
        fs::create_dir(home.path("bin")).unwrap();
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A program that notes how it was started, and then is the testbed.
    fn runner(&self, name: &str) {
        let testbed = Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("kitbag-testbed");
        assert!(testbed.exists(), "run `cargo build --workspace` first");
        let script = format!(
            "#!/bin/sh\nset -eu\nPATH=/usr/bin:/bin\n{{ echo \"$0 $*\"; env | sort; }} > {}\nexec {} stdio\n",
            self.path("noted").display(),
            testbed.display()
        );
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kitbag"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path());
        command
            .env("PATH", self.path("bin"))
            .env("KITBAG_REGISTRY_URL", &self.shelf.url);
        command
    }

    fn run(&self, words: &[&str]) -> Outcome {
        let output = self.command(words).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .replace(&self.shelf.url, "HERE")
        };
        Outcome {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> Outcome {
        let told = self.run(words);
        assert_eq!(told.code, Some(0), "{words:?}: {}", told.stderr);
        told
    }

    #[track_caller]
    fn fails(&self, words: &[&str]) -> String {
        let told = self.run(words);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(1), ""),
            "{words:?}"
        );
        told.stderr
    }

    fn config(&self) -> String {
        fs::read_to_string(self.path(".config/kitbag/kitbag.toml")).unwrap_or_default()
    }

    fn noted(&self) -> String {
        fs::read_to_string(self.path("noted")).unwrap()
    }
}

const WEATHER: &str = "io.github.acme/weather";
