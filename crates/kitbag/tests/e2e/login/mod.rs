//! Logging in to servers, through the real binary and a scripted browser.
//!
//! # Layout
//! - [`people`]: commands, and where the browser ends up
//! - [`tokens`]: tokens after the login: refreshed, revoked, insufficient
//! - [`strangers`]: servers that would mislead the user
//! - [`credentials`]: a login for the credential of a tool file

mod credentials;
mod people;
mod strangers;
mod tokens;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use crate::harness::{Home, PATIENCE, processes, until};
use kitbag_testkit::home::CommandOutcome;
use kitbag_testkit::programs::write_program;

/// A home with a browser that records the URL, for a test to visit.
pub(crate) fn home(config: &str) -> Arc<Home> {
    let home = Home::new(config);
    let (script, visited) = (home.path("browser.sh"), home.path("visited"));
    let visited = visited.display();
    let text = format!("#!/bin/sh\nprintf %s \"$1\" > {visited}.new\nmv {visited}.new {visited}\n");
    write_program(&script, &text);
    home.export("BROWSER", script.to_str().unwrap());
    home
}

/// `kitbag servers login docs`, with a user who approves everything in the browser.
async fn login(home: &Home, words: &[&str]) -> CommandOutcome {
    run_approved(home, &[&["servers", "login", "docs"], words].concat()).await
}

async fn run_approved(home: &Home, words: &[&str]) -> CommandOutcome {
    let visited = home.path("visited");
    let _ = fs::remove_file(&visited);
    let running = Running::start(home, words);
    let sent_to =
        until(
            "the browser opens, or there is no need to",
            async || match fs::read_to_string(&visited) {
                Ok(address) => Some(Some(address)),
                Err(_) => running.has_ended().then_some(None),
            },
        );
    if let Some(address) = sent_to.await {
        browse(&address).await;
    }
    running.outcome().await
}

pub(crate) async fn log_in(home: &Home, words: &[&str]) {
    let output = login(home, words).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// Visits a URL, following redirects; returns the text of the last page.
async fn browse(address: &str) -> String {
    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
    browser
        .get(address)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap()
}

/// A running verb that waits for the user.
struct Running {
    child: Mutex<Child>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    fn start(home: &Home, words: &[&str]) -> Self {
        let (stdout, stderr) = (home.path("stdout"), home.path("stderr"));
        let child = home
            .command(words)
            .stdin(Stdio::piped())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Self {
            child: Mutex::new(child),
            stdout,
            stderr,
        }
    }

    fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// The first URL that it prints.
    async fn shows(&self) -> String {
        until("an address is shown", async || {
            let said = fs::read_to_string(&self.stderr).unwrap();
            let line = said
                .lines()
                .find(|line| line.trim_start().starts_with("http"))?;
            Some(line.trim().to_owned())
        })
        .await
    }

    fn type_in(&self, line: &str) {
        let mut child = self.child.lock().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    async fn outcome(self) -> CommandOutcome {
        let waited = tokio::task::spawn_blocking(move || {
            let mut child = self.child.into_inner().unwrap();
            let status = processes::wait(&mut child, PATIENCE).expect("it ends");
            let read = |path| fs::read_to_string(path).unwrap();
            CommandOutcome {
                code: status.code(),
                stdout: read(self.stdout),
                stderr: read(self.stderr),
            }
        });
        waited.await.unwrap()
    }
}
