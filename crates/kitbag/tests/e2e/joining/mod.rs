//! One gateway for all clients of a machine: who joins it, who does not, and the consequences.
//!
//! # Layout
//! - [`sharing`]: clients and commands that use the same servers
//! - [`offers`]: resources and prompts from the command line
//! - [`apart`]: programs that must not or do not want to join
//! - [`ending`]: gateways that end, are killed, or start second

mod apart;
mod ending;
mod offers;
mod sharing;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::harness::testbed::command_table;
use crate::harness::{Home, Testbed};
use kitbag_testkit::home::CommandOutcome;

/// A home with one server, which records each of its starts.
struct SharedHome {
    home: Arc<Home>,
}

impl SharedHome {
    fn new() -> Self {
        Self::with("")
    }

    /// With extra tables in the configuration.
    fn with(config: &str) -> Self {
        let home = Home::new("");
        let setup = Self { home };
        setup
            .home
            .configure(&format!("{config}{}", setup.server("shared")));
        setup.introduce();
        setup
    }

    /// Lists the servers, so that later only calls start them.
    fn introduce(&self) {
        let listed = self.home.command(&["tools", "--own"]).output().unwrap();
        assert!(
            listed.status.success(),
            "{}",
            String::from_utf8_lossy(&listed.stderr)
        );
        fs::write(self.home.path("starts"), "").unwrap();
    }

    /// The table of a server that counts its starts together with all others.
    fn server(&self, name: &str) -> String {
        let testbed = Testbed::new(name).data_dir(&self.home.path("trace"));
        let script = format!(
            "echo start >> {:?}; exec {}",
            self.home.path("starts"),
            testbed.line()
        );
        command_table(name, "sh", &["-c".to_owned(), script], "")
    }

    /// The number of server starts so far.
    fn starts(&self) -> usize {
        fs::read_to_string(self.home.path("starts"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    fn events(&self, event: &str) -> usize {
        let log = fs::read_to_string(self.home.path("trace/events.log")).unwrap_or_default();
        log.lines().filter(|line| *line == event).count()
    }

    /// The socket of the only gateway.
    fn socket(&self) -> Option<PathBuf> {
        let files = fs::read_dir(self.home.path("data/run"))
            .ok()?
            .filter_map(Result::ok);
        files
            .map(|file| file.path())
            .find(|path| path.extension().is_some_and(|it| it == "sock"))
    }

    /// Runs a verb that must succeed.
    async fn ok(&self, words: &[&str]) -> CommandOutcome {
        let printed = self.home.kitbag(words).await;
        assert_eq!(printed.code, Some(0), "{words:?}: {}", printed.stderr);
        printed
    }

    /// The JSON output of a verb that must succeed.
    async fn json<T: DeserializeOwned>(&self, words: &[&str]) -> T {
        serde_json::from_str(&self.ok(&[words, &["--json"]].concat()).await.stdout).unwrap()
    }

    /// The same in another folder.
    async fn ok_in(&self, folder: &Path, words: &[&str]) {
        let mut command = self.home.command(words);
        command.current_dir(folder);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
