//! Logging in at servers that ask for it, through the real binary and a browser that is a script.
//!
//! # Layout
//! - [`people`]: what a person types, and where their browser ends up
//! - [`tokens`]: what becomes of tokens afterwards: renewed, revoked, not enough
//! - [`strangers`]: servers that would lead a person astray
//! - [`credentials`]: a person logs in for the credential of a tool file

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

/// A person whose browser writes down where it was sent, for a test to go there.
pub(crate) fn home(config: &str) -> Arc<Home> {
    let home = Home::new(config);
    let (script, visited) = (home.path("browser.sh"), home.path("visited"));
    let visited = visited.display();
    let text = format!("#!/bin/sh\nprintf %s \"$1\" > {visited}.new\nmv {visited}.new {visited}\n");
    write_program(&script, &text);
    home.export("BROWSER", script.to_str().unwrap());
    home
}

/// `kitbag servers login docs`, by a person who says yes to whatever the browser shows.
async fn login(home: &Home, words: &[&str]) -> CommandOutcome {
    saying_yes(home, &[&["servers", "login", "docs"], words].concat()).await
}

async fn saying_yes(home: &Home, words: &[&str]) -> CommandOutcome {
    let visited = home.path("visited");
    let _ = fs::remove_file(&visited);
    let running = Running::start(home, words);
    let sent_to =
        until(
            "the browser opens, or there is no need to",
            async || match fs::read_to_string(&visited) {
                Ok(address) => Some(Some(address)),
                Err(_) => running.ended().then_some(None),
            },
        );
    if let Some(address) = sent_to.await {
        browse(&address).await;
    }
    running.told().await
}

pub(crate) async fn logged_in(home: &Home, words: &[&str]) {
    let told = login(home, words).await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
}

/// Goes to an address and wherever it leads; what the last page says.
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

/// A verb that waits for a person.
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

    fn ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// The first address it shows.
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

    async fn told(self) -> CommandOutcome {
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
