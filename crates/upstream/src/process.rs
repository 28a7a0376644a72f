//! The lifecycle of a child process: minimal environment, graceful stop, and no process left behind.
//!
//! A detached process (with a new session, so no longer in the process group) is still found: by
//! the mark in its environment, or because it was reparented to the gateway.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use kitbag_domain::{Launch, Lookup, MissingVariable, Template};
use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::cause::{Cause, Diagnosis};
use crate::error::StartError;

use crate::child_mark::{self, ChildMark, find_marked_processes};
use crate::mask;
use crate::process_tree;
use crate::programs::{self, this_program};
use crate::spec::ServerSpec;

/// Servers that save their state need a moment to end; the user who stops the gateway waits for it.
const GRACE: Duration = Duration::from_secs(2);

/// The variables that a child inherits; all others must be configured.
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

pub(crate) struct RunningChild {
    child: Child,
    /// The process group that the child leads, which may outlive it.
    group: Option<Pid>,
    mark: ChildMark,
}

pub(crate) struct ChildPipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

pub(crate) struct LaunchedChild {
    pub(crate) running: RunningChild,
    pub(crate) pipes: ChildPipes,
}

pub(crate) fn launch(
    spec: &ServerSpec,
    launch: &Launch<Template>,
    lookup: &Lookup,
) -> Result<LaunchedChild, StartError> {
    let mark = ChildMark::next();
    let mut command =
        build_command(launch, lookup, &mark).map_err(|source| StartError::Variable {
            server: spec.name.clone(),
            source,
        })?;
    let program = command.as_std().get_program().to_owned();
    let mut child = process_tree::launch(&mut command, &mark)
        .map_err(|error| launch_error(spec, launch, Path::new(&program), &error))?;
    let (pipes, group) = (ChildPipes::take_from(&mut child), group_of(&child));
    let running = RunningChild { child, group, mark };
    Ok(LaunchedChild { running, pipes })
}

impl ChildPipes {
    fn take_from(child: &mut Child) -> Self {
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three streams were asked for as pipes")
        };
        Self {
            stdin,
            stdout,
            stderr,
        }
    }
}

/// Returns the group that the child leads, which has its pid.
fn group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

fn build_command(
    launch: &Launch<Template>,
    lookup: &Lookup,
    mark: &ChildMark,
) -> Result<Command, MissingVariable> {
    let program = launch.command.resolve(|name| lookup(name))?;
    let mut command = Command::new(match this_program(&program) {
        Some(path) => path,
        None => program.into(),
    });
    for arg in &launch.args {
        command.arg(arg.resolve(|name| lookup(name))?);
    }
    command.env_clear();
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, template) in &launch.env {
        let value = template.resolve(|name| lookup(name))?;
        mask::add_secret(&value);
        command.env(name, value);
    }
    command.env(child_mark::VARIABLE, mark.to_string());
    // Not in the gateway's working directory: that may be a project, and package managers and
    // interpreters obey the files they find there.
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
    Ok(command)
}

fn launch_error(
    spec: &ServerSpec,
    launch: &Launch<Template>,
    program: &Path,
    error: &io::Error,
) -> StartError {
    let cause = find_cause(launch, program, error);
    let reason = match (&cause, error.kind()) {
        (Some(Cause::NotFound { .. }), io::ErrorKind::NotFound) => "program not found".to_owned(),
        _ => error.to_string(),
    };
    StartError::Launch {
        server: spec.name.clone(),
        command: launch.command.source().to_owned(),
        reason,
        diagnosis: cause.map(|cause| Box::new(Diagnosis::new(cause, spec))),
    }
}

/// Derives the cause from the system's error, which is the same for a missing directory,
/// interpreter or program.
fn find_cause(launch: &Launch<Template>, program: &Path, error: &io::Error) -> Option<Cause> {
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    if let Some(folder) = &launch.cwd
        && (is_missing || error.kind() == io::ErrorKind::NotADirectory)
        && !folder.is_dir()
    {
        return Some(Cause::NoFolder {
            path: folder.clone(),
        });
    }
    match error.kind() {
        io::ErrorKind::NotFound if program.is_file() => Some(Cause::NoInterpreter {
            script: program.to_owned(),
            interpreter: programs::read_interpreter(program)?,
        }),
        io::ErrorKind::NotFound => Some(Cause::NotFound {
            command: launch.command.source().to_owned(),
        }),
        io::ErrorKind::PermissionDenied => Some(Cause::NotExecutable {
            path: program.to_owned(),
        }),
        _ => None,
    }
}

impl RunningChild {
    /// Ends the child after its stdin was closed: waits, then sends SIGTERM, then SIGKILL. Also
    /// ends all processes that it started. Returns a description of its exit status.
    pub(crate) async fn terminate(mut self) -> String {
        // Its descendants can be identified only while it is their ancestor.
        process_tree::update_tree();
        let status = self.wait_then_signal().await;
        self.signal_group(Signal::TERM);
        let mark = &self.mark;
        end_all(|| {
            [
                find_marked_processes(|carried| carried == mark),
                process_tree::find_processes_of(mark),
            ]
            .concat()
        })
        .await;
        process_tree::forget_server(mark);
        status.map_or_else(|error| error.to_string(), describe_status)
    }

    async fn wait_then_signal(&mut self) -> io::Result<ExitStatus> {
        if let Ok(status) = tokio::time::timeout(GRACE, self.child.wait()).await {
            return status;
        }
        self.signal_group(Signal::TERM);
        if let Ok(status) = tokio::time::timeout(GRACE, self.child.wait()).await {
            return status;
        }
        self.signal_group(Signal::KILL);
        self.child.wait().await
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

/// The status of a child that ended without an error.
pub(crate) const EXIT_SUCCESS: &str = "exit code 0";

fn describe_status(status: ExitStatus) -> String {
    match status.code() {
        Some(0) => EXIT_SUCCESS.to_owned(),
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

/// Ends children of gateways that have ended. Called once, at start.
pub(crate) async fn sweep_orphans() {
    end_all(|| find_marked_processes(ChildMark::is_orphaned)).await;
}

/// Ends all remaining children of this gateway. Called last.
pub(crate) async fn sweep_own() {
    end_all(|| {
        [
            find_marked_processes(ChildMark::is_own),
            process_tree::find_all_processes(),
        ]
        .concat()
    })
    .await;
}

/// Asks these processes to end, and kills the ones that stay.
async fn end_all(find: impl Fn() -> Vec<Pid>) {
    signal_all(find(), Signal::TERM);
    let deadline = tokio::time::Instant::now() + GRACE;
    loop {
        let left = find();
        if left.is_empty() {
            return;
        }
        if tokio::time::Instant::now() >= deadline {
            return signal_all(left, Signal::KILL);
        }
        // Reading all processes takes about a millisecond, so this costs little.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn signal_all(processes: Vec<Pid>, signal: Signal) {
    for pid in processes {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
