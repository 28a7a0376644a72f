//! The life of a child process: launched with little, ended gently, and nothing left behind.
//!
//! A process that detached itself (a new session, so no longer in the group we can signal) is
//! still found: by the mark in its environment, or because it was left to us when it lost its
//! parent.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use kitbag_domain::{Launch, Lookup, MissingVariable, Template};
use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::cause::{Cause, Diagnosis};
use crate::error::StartError;
use crate::family;
use crate::mark::{self, Mark, marked};
use crate::mask;
use crate::programs;
use crate::spec::ServerSpec;

const GRACE: Duration = Duration::from_secs(2);

/// What a child may know of our environment; everything else must be configured.
pub const INHERITED: [&str; 17] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

pub(crate) struct Running {
    child: Child,
    /// The child leads a process group of its own, which may outlive it.
    group: Option<Pid>,
    mark: Mark,
}

pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

pub(crate) struct Launched {
    pub(crate) running: Running,
    pub(crate) pipes: Pipes,
}

pub(crate) fn launch(
    spec: &ServerSpec,
    launch: &Launch<Template>,
    lookup: &Lookup,
) -> Result<Launched, StartError> {
    let variable = |source: MissingVariable| StartError::Variable {
        server: spec.name.clone(),
        source,
    };
    let lookup = |name: &str| lookup(name);
    let program = launch.command.resolve(lookup).map_err(variable)?;
    let mut command = Command::new(&program);
    for arg in &launch.args {
        command.arg(arg.resolve(lookup).map_err(variable)?);
    }
    command.env_clear();
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, template) in &launch.env {
        let value = template.resolve(lookup).map_err(variable)?;
        mask::hide(&value);
        command.env(name, value);
    }
    let mark = Mark::next();
    command.env(mark::VARIABLE, mark.to_string());
    // Not where the gateway was started: that may be a project, and package managers and
    // interpreters obey what they find in the folder they are started in.
    if let Some(folder) = launch.cwd.clone().or_else(std::env::home_dir) {
        command.current_dir(folder);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = family::launch(&mut command, &mark)
        .map_err(|error| not_launched(spec, launch, Path::new(&program), &error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        unreachable!("all three streams were asked for as pipes")
    };
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let running = Running { child, group, mark };
    Ok(Launched {
        running,
        pipes: Pipes {
            stdin,
            stdout,
            stderr,
        },
    })
}

fn not_launched(
    spec: &ServerSpec,
    launch: &Launch<Template>,
    program: &Path,
    error: &io::Error,
) -> StartError {
    let cause = obstacle(launch, program, error);
    let reason = match (&cause, error.kind()) {
        (Some(Cause::NoFolder { .. } | Cause::NoInterpreter { .. }), _) | (None, _) => {
            error.to_string()
        }
        (_, io::ErrorKind::NotFound) => "no such program".to_owned(),
        _ => error.to_string(),
    };
    StartError::Launch {
        server: spec.name.clone(),
        command: launch.command.source().to_owned(),
        reason,
        diagnosis: cause.map(|cause| Box::new(Diagnosis::of(cause, spec))),
    }
}

/// The system says as little of a missing folder or interpreter as of a missing program.
fn obstacle(launch: &Launch<Template>, program: &Path, error: &io::Error) -> Option<Cause> {
    match (error.kind(), &launch.cwd) {
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(folder))
            if !folder.is_dir() =>
        {
            Some(Cause::NoFolder {
                path: folder.clone(),
            })
        }
        (io::ErrorKind::NotFound, _) if program.is_file() => {
            let interpreter = programs::interpreter(program)?;
            Some(Cause::NoInterpreter {
                script: program.to_owned(),
                interpreter,
            })
        }
        (io::ErrorKind::NotFound, _) => Some(Cause::NotFound {
            command: launch.command.source().to_owned(),
        }),
        (io::ErrorKind::PermissionDenied, _) => Some(Cause::NotExecutable {
            path: program.to_owned(),
        }),
        _ => None,
    }
}

impl Running {
    /// Ends the child after its stdin was closed: waits, then asks, then insists; and takes
    /// along whatever it started. Tells how it ended.
    pub(crate) async fn end(mut self) -> String {
        // What it started is known as its own only as long as it stands between us and that.
        family::look();
        let status = match tokio::time::timeout(GRACE, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.signal_group(Signal::TERM);
                match tokio::time::timeout(GRACE, self.child.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        self.signal_group(Signal::KILL);
                        self.child.wait().await
                    }
                }
            }
        };
        self.signal_group(Signal::TERM);
        let mark = &self.mark;
        end_all(|| [marked(|carried| carried == mark), family::left_by(mark)].concat()).await;
        family::forget(mark);
        status.map_or_else(|error| error.to_string(), describe)
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

/// How a child ends that has nothing to complain about.
pub(crate) const WELL: &str = "exit code 0";

fn describe(status: std::process::ExitStatus) -> String {
    match status.code() {
        Some(0) => WELL.to_owned(),
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

/// Ends children of gateways that no longer live. Called once, at start.
pub(crate) async fn sweep_orphans() {
    end_all(|| marked(Mark::is_orphaned)).await;
}

/// Ends whatever is left of our own children. Called last.
pub(crate) async fn sweep_own() {
    end_all(|| [marked(Mark::is_own), family::left_by_all()].concat()).await;
}

/// Asks these processes to end, and ends those that stay.
async fn end_all(find: impl Fn() -> Vec<Pid>) {
    for pid in find() {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
    }
    let deadline = tokio::time::Instant::now() + GRACE;
    loop {
        let left = find();
        if left.is_empty() {
            return;
        }
        if tokio::time::Instant::now() >= deadline {
            for pid in left {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
