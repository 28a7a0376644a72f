//! The lifetime of a Chromium: its own folder, a pipe to it, and a complete cleanup.
//!
//! It stays in Kitbag's process group, so that it counts as one of the gateway's own programs. If
//! the gateway is killed, the pipe closes and Chromium ends by itself.

mod process_family;

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::OwnedSemaphorePermit;

use super::devtools::Devtools;
use super::error::BrowserError;
use super::program;

/// A running Chromium. It is killed with all its processes on drop.
#[derive(Debug)]
pub(super) struct ChromiumProcess {
    /// `None` after the end.
    running: Option<RunningChromium>,
}

#[derive(Debug)]
struct RunningChromium {
    child: Child,
    /// Home, profile and temporary files.
    folder: TempDir,
    /// Released when everything is gone.
    _permit: OwnedSemaphorePermit,
}

pub(super) fn create_folder() -> Result<TempDir, BrowserError> {
    let made = tempfile::Builder::new().prefix("kitbag-browser-").tempdir();
    made.map_err(|error| start_error(&error))
}

pub(super) fn launch(
    program: &Path,
    folder: TempDir,
    permit: OwnedSemaphorePermit,
) -> Result<(ChromiumProcess, Devtools), BrowserError> {
    let mut command = build_command(program, folder.path()).map_err(|error| start_error(&error))?;
    let mut child = command.spawn().map_err(|error| start_error(&error))?;
    let devtools = connect_devtools(&mut child);
    let process = ChromiumProcess {
        running: Some(RunningChromium {
            child,
            folder,
            _permit: permit,
        }),
    };
    let devtools = devtools.map_err(|error| start_error(&error))?;
    Ok((process, devtools))
}

fn connect_devtools(child: &mut Child) -> io::Result<Devtools> {
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        unreachable!("both streams were asked for as pipes")
    };
    Ok(Devtools::new(
        ChildStdin::from_std(input)?,
        ChildStdout::from_std(output)?,
    ))
}

/// Chromium uses the file descriptors 3 and 4, which a Rust program cannot pass on without
/// `unsafe`; a shell can.
const WITH_PIPE: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;
const STDERR: &str = "stderr";

/// The variables that Chromium inherits from Kitbag's environment.
const INHERITED: [&str; 6] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "FONTCONFIG_FILE",
];

fn build_command(program: &Path, folder: &Path) -> io::Result<Command> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WITH_PIPE]).arg(program);
    command.args(program::chromium_flags(&folder.join("profile")));
    command.env_clear().current_dir(folder);
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("HOME", folder).env("TMPDIR", folder);
    // Without an address it would search for a message bus, and start one.
    command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(std::fs::File::create(folder.join(STDERR))?);
    Ok(command)
}

impl ChromiumProcess {
    /// Ends Chromium, and returns when all its processes are gone.
    pub(super) async fn terminate(mut self) {
        if let Some(running) = self.running.take() {
            let family = running.kill_family();
            let _ = tokio::task::spawn_blocking(move || running.wait_and_clean(&family)).await;
        }
    }

    /// Returns the last error output of a Chromium that exited by itself.
    pub(super) fn last_output(&self) -> String {
        let running = self.running.as_ref();
        let path = running.map(|running| running.folder.path().join(STDERR));
        let output = path
            .and_then(|path| std::fs::read(path).ok())
            .unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let mut lines = output.lines().filter(|line| !line.contains("dbus"));
        let last = lines.rfind(|line| line.contains("FATAL") || line.contains("sandbox"));
        last.or_else(|| output.lines().next_back())
            .unwrap_or("it printed nothing")
            .to_owned()
    }
}

impl Drop for ChromiumProcess {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        let family = running.kill_family();
        // The kernel takes a moment to end them, which nothing here waits for.
        let cleanup = thread::Builder::new().name("browser-end".to_owned());
        let _ = cleanup.spawn(move || running.wait_and_clean(&family));
    }
}

impl RunningChromium {
    /// Kills Chromium and the processes that it started, and returns them.
    fn kill_family(&self) -> Vec<Pid> {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return Vec::new();
        };
        // While it is stopped, it starts no others.
        let _ = rustix::process::kill_process(pid, Signal::STOP);
        let family = process_family::find_family(pid, self.folder.path());
        for member in family.iter().chain([&pid]) {
            let _ = rustix::process::kill_process(*member, Signal::KILL);
        }
        family
    }

    fn wait_and_clean(mut self, family: &[Pid]) {
        let _ = self.child.wait();
        process_family::wait_for_end(family);
        let _ = self.folder.close();
    }
}

fn start_error(error: &io::Error) -> BrowserError {
    BrowserError::NotStarted {
        reason: error.to_string(),
    }
}
