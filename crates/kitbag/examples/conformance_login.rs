//! `kitbag servers login`, driven by the official conformance suite.
//!
//! The suite starts this program with the URL of a server that requires a login. The program acts
//! like a user of the real `kitbag`: it calls a tool, follows the remedy, and calls it again. It is
//! also the browser that `kitbag` opens.

#![expect(
    clippy::print_stderr,
    reason = "the suite shows what a client writes there"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let url = std::env::args()
        .next_back()
        .context("the last argument must be a URL")?;
    match std::env::var_os(BROWSING) {
        Some(_) => browse(&url),
        None => Setup::new(&url)?.run_logins(),
    }
}

/// Set for all child processes of `kitbag`, and so for the browser.
const BROWSING: &str = "KITBAG_CONFORMANCE_BROWSING";
/// More logins than a server may require for one tool.
const MAX_LOGINS: usize = 2;
const TOOL: &str = "suite__test-tool";

/// A home folder, and the path of `kitbag`.
struct Setup {
    folder: tempfile::TempDir,
    kitbag: PathBuf,
    browser: PathBuf,
}

impl Setup {
    fn new(url: &str) -> anyhow::Result<Self> {
        let browser = std::env::current_exe()?;
        let kitbag = browser
            .parent()
            .and_then(Path::parent)
            .context("the example is not in the target folder")?;
        let setup = Self {
            folder: tempfile::tempdir()?,
            kitbag: kitbag.join("kitbag"),
            browser: browser.clone(),
        };
        std::fs::write(setup.config(), config(url)?)?;
        Ok(setup)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("kitbag.toml")
    }

    fn run_logins(&self) -> anyhow::Result<()> {
        for _ in 0..=MAX_LOGINS {
            let tried = self.kitbag(&["call", TOOL])?;
            if tried.status.success() {
                return Ok(());
            }
            let output = String::from_utf8_lossy(&tried.stderr);
            ensure!(
                output.contains("run `kitbag servers login suite`"),
                "no login was requested:\n{output}"
            );
            let login = self.kitbag(&["servers", "login", "suite"])?;
            ensure!(
                login.status.success(),
                "{}",
                String::from_utf8_lossy(&login.stderr)
            );
        }
        bail!("{MAX_LOGINS} logins did not help")
    }

    fn kitbag(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut kitbag = Command::new(&self.kitbag);
        kitbag
            .args(words)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path());
        kitbag.env("KITBAG_CONFIG", self.config());
        kitbag.env("BROWSER", &self.browser).env(BROWSING, "yes");
        let output = kitbag
            .output()
            .with_context(|| format!("starting {}", self.kitbag.display()))?;
        eprintln!(
            "$ kitbag {}\n{}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output)
    }
}

/// Returns the configuration with the scenario's registered client, if any, and its metadata document.
fn config(url: &str) -> anyhow::Result<String> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value =
        serde_json::from_str(&context).context("reading the context of the scenario")?;
    let mut text = format!(
        "[servers.suite]\nurl = {}\n[servers.suite.oauth]\n",
        json!(url)
    );
    text.push_str(
        "client_metadata_url = \"https://conformance-test.local/client-metadata.json\"\n",
    );
    for key in ["client_id", "client_secret"] {
        if let Some(value) = context.get(key) {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    Ok(text)
}

/// Follows all redirects, finally back to `kitbag`.
#[tokio::main]
async fn browse(url: &str) -> anyhow::Result<()> {
    reqwest::get(url).await?.error_for_status()?;
    Ok(())
}
