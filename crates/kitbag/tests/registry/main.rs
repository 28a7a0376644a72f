//! Servers from the registry, through the real binary and a fake registry.
//!
//! # Layout
//! - [`finding`]: searching the registry
//! - [`adding`]: an entry becomes a server
//! - [`consent`]: confirmation before an entry runs

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod adding;
mod consent;
mod finding;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kitbag_testkit::home::{CommandOutcome, Home};
use kitbag_testkit::programs::{testbed, write_program};
use kitbag_testkit::test_registry::TestRegistry;

/// A home with a registry, whose PATH only has programs that a test adds.
struct RegistryHome {
    home: Home,
    test_registry: TestRegistry,
}

impl RegistryHome {
    async fn new() -> Self {
        let home = Self {
            home: Home::new(),
            test_registry: TestRegistry::open().await,
        };
        fs::create_dir(home.path("bin")).unwrap();
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path(path)
    }

    /// Adds a program that records how it was started, and then acts as the testbed.
    fn runner(&self, name: &str) {
        let script = format!(
            "#!/bin/sh\nset -eu\nPATH=/usr/bin:/bin\n{{ echo \"$0 $*\"; env | sort; }} > {}\nexec {} stdio\n",
            self.path("noted").display(),
            testbed()
        );
        write_program(&self.path("bin").join(name), &script);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.command(words);
        command
            .env_remove("COLUMNS")
            .env("PATH", self.path("bin"))
            .env("KITBAG_REGISTRY_URL", &self.test_registry.url);
        command
    }

    fn run(&self, words: &[&str]) -> CommandOutcome {
        let output = self.command(words).stdin(Stdio::null()).output();
        let told = CommandOutcome::from_output(&output.unwrap());
        CommandOutcome {
            stdout: told.stdout.replace(&self.test_registry.url, "HERE"),
            stderr: told.stderr.replace(&self.test_registry.url, "HERE"),
            ..told
        }
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> CommandOutcome {
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

    fn recorded(&self) -> String {
        fs::read_to_string(self.path("noted")).unwrap()
    }
}

const WEATHER: &str = "io.github.acme/weather";
