//! `kitbag servers login`, driven by the official conformance suite.
//!
//! The suite starts this program with the address of a server that wants a login. It does what a
//! person would do with the real `kitbag`: try a tool, read what to do, do it, try again. It is
//! also the browser of that person, when `kitbag` opens it.

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
        .context("an address comes last")?;
    match std::env::var_os(BROWSING) {
        Some(_) => browse(&url),
        None => Desk::set_up(&url)?.work(),
    }
}

/// Set for what `kitbag` starts, and so for the browser.
const BROWSING: &str = "KITBAG_CONFORMANCE_BROWSING";
/// More than a server may ask of a person for one tool.
const MAX_LOGINS: usize = 2;
const TOOL: &str = "suite__test-tool";

/// A person's folder, with `kitbag` in reach.
struct Desk {
    folder: tempfile::TempDir,
    kitbag: PathBuf,
    browser: PathBuf,
}

impl Desk {
    fn set_up(url: &str) -> anyhow::Result<Self> {
        let browser = std::env::current_exe()?;
        let kitbag = browser
            .parent()
            .and_then(Path::parent)
            .context("examples lie below programs")?;
        let desk = Self {
            folder: tempfile::tempdir()?,
            kitbag: kitbag.join("kitbag"),
            browser: browser.clone(),
        };
        std::fs::write(desk.config(), config(url)?)?;
        Ok(desk)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("kitbag.toml")
    }

    fn work(&self) -> anyhow::Result<()> {
        for _ in 0..=MAX_LOGINS {
            let tried = self.kitbag(&["call", TOOL])?;
            if tried.status.success() {
                return Ok(());
            }
            let told = String::from_utf8_lossy(&tried.stderr);
            ensure!(
                told.contains("run `kitbag servers login suite`"),
                "no login is asked for:\n{told}"
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

/// With the client the scenario has registered, if it has, and the document it pretends to read.
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

/// Goes wherever it is led, in the end back to `kitbag`.
#[tokio::main]
async fn browse(url: &str) -> anyhow::Result<()> {
    reqwest::get(url).await?.error_for_status()?;
    Ok(())
}
