//! A sandbox with real workers, and a host whose tools are a few lines of Rust.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kitbag_domain::Tenant;
use kitbag_sandbox::{
    Budget, Host, HostError, HostRequest, Isolation, Program, RunFailure, RunOutcome, Sandbox,
    SandboxSettings, WorkerCommand,
};
use kitbag_script::ToolPath;
use rustix::process::{Pid, Signal};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

pub(crate) fn budget() -> Budget {
    Budget {
        wall: Duration::from_secs(20),
        cpu: Duration::from_millis(500),
        memory: 32 << 20,
        output: 100_000,
        calls: 200,
        calls_at_once: 16,
    }
}

pub(crate) fn settings() -> SandboxSettings {
    SandboxSettings {
        worker: command(WORKER, &[]),
        budget: budget(),
        warm: 1,
        most: 4,
        isolation: Isolation::Required,
    }
}

pub(crate) const WORKER: &str = env!("CARGO_BIN_EXE_kitbag-sandbox-worker");

/// The worker that makes an attack when a program begins with `//attack name`.
pub(crate) const ATTACKER: &str = env!("CARGO_BIN_EXE_kitbag-sandbox-attacker");

pub(crate) fn command(program: &str, arguments: &[&str]) -> WorkerCommand {
    WorkerCommand {
        program: PathBuf::from(program),
        arguments: arguments.iter().map(ToString::to_string).collect(),
    }
}

pub(crate) fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

pub(crate) fn program(source: &str) -> Program {
    Program {
        source: source.to_owned(),
        params: Some(to_raw_value(&json!({ "list": [1, 2], "name": "x" })).unwrap()),
        wants_shape: false,
    }
}

/// Runs a program for a tenant of its own.
pub(crate) async fn run(sandbox: &Sandbox, source: &str) -> RunOutcome {
    sandbox
        .run(&tenant("acme"), program(source), &Bench::default())
        .await
}

/// The value of a program, or its error.
pub(crate) fn value_or_error(outcome: &RunOutcome) -> Result<Value, String> {
    match &outcome.value {
        Ok(value) => Ok(serde_json::from_str(value.get()).unwrap()),
        Err(failure) => Err(sentence(failure)),
    }
}

fn sentence(failure: &RunFailure) -> String {
    match failure {
        RunFailure::Thrown {
            hint: Some(hint), ..
        } => format!("{failure} ({hint})"),
        RunFailure::Syntax(mistake) => format!(
            "{mistake} ({})",
            mistake.hint.as_deref().unwrap_or_default()
        ),
        _ => failure.to_string(),
    }
}

/// The tools of the tests, on the server `bench`.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Opens when this many calls of `meet` wait at the same time.
    meeting: Barrier,
    person: AtomicBool,
    /// Notified when a call begins to wait.
    waits: Notify,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            meeting: Barrier::new(8),
            person: AtomicBool::new(false),
            waits: Notify::new(),
        }
    }
}

impl Host for Bench {
    async fn answer(&self, request: HostRequest) -> Result<Box<RawValue>, HostError> {
        match request {
            HostRequest::Search { text, limit } => raw(&json!({ "found": text, "limit": limit })),
            HostRequest::Describe { tool } => raw(&json!(format!("{tool:?}"))),
            HostRequest::Call { tool, arguments } => self.call(&tool, &arguments).await,
        }
    }

    fn waits_for_person(&self) -> bool {
        self.person.load(Ordering::Relaxed)
    }
}

impl Bench {
    pub(crate) async fn wait_for_call(&self) {
        self.waits.notified().await;
    }

    async fn call(
        &self,
        tool: &ToolPath,
        arguments: &RawValue,
    ) -> Result<Box<RawValue>, HostError> {
        let (ToolPath::Exposed(name) | ToolPath::Member { tool: name, .. }) = tool;
        match name.as_str() {
            "echo" => raw(&json!({ "tool": tool, "arguments": arguments })),
            "issues" => raw(&json!({ "total": 2, "items": [{ "id": 1 }, { "id": 2 }] })),
            "meet" => {
                self.waits.notify_one();
                self.meeting.wait().await;
                raw(&json!("met"))
            }
            "ask_person" => {
                self.person.store(true, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(6)).await;
                self.person.store(false, Ordering::Relaxed);
                raw(&json!("yes"))
            }
            "never" => std::future::pending().await,
            "long" => raw(&json!("x".repeat(7 << 20))),
            "too_long" => raw(&json!("x".repeat(9 << 20))),
            "kill_worker" => {
                kill_workers();
                std::future::pending().await
            }
            _ => Err(failed(name)),
        }
    }
}

/// The workers of this process.
pub(crate) fn workers() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    threads
        .flat_map(|thread| children(&thread.path()))
        .filter(|child| is_alive(*child))
        .collect()
}

/// The only worker, once the others are gone.
pub(crate) async fn only_worker() -> Pid {
    loop {
        if let [worker] = workers()[..] {
            return worker;
        }
        tokio::task::yield_now().await;
    }
}

fn children(thread: &Path) -> Vec<Pid> {
    let list = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
    list.split_whitespace()
        .filter_map(|child| Pid::from_raw(child.parse().ok()?))
        .collect()
}

/// A process that has ended but was not reaped still exists, but has no command line.
fn is_alive(process: Pid) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    line.is_ok_and(|line| !line.is_empty())
}

fn kill_workers() {
    for worker in workers() {
        rustix::process::kill_process(worker, Signal::KILL).unwrap();
    }
}

fn raw(value: &Value) -> Result<Box<RawValue>, HostError> {
    Ok(to_raw_value(value).unwrap())
}

fn failed(name: &str) -> HostError {
    HostError {
        kind: "tool_error".to_owned(),
        message: format!("{name} failed"),
        result: Some(to_raw_value(&json!({ "reason": "disk full" })).unwrap()),
    }
}
