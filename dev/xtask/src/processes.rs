//! Runs commands to completion, and servers while a task needs them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Runs to completion in this terminal; a failure is an error that repeats the command.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` ended with {status}", command_line(command));
    }
    Ok(())
}

/// Runs to completion and returns the output, whether it succeeded or not.
pub fn output(command: &mut Command) -> anyhow::Result<(ExitStatus, String)> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting `{}`", command_line(command)))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((
        output.status,
        printed + &String::from_utf8_lossy(&output.stderr),
    ))
}

pub fn exists(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

/// Formats the command as a user would type it.
pub fn command_line(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy());
    std::iter::once(program)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

fn status(command: &mut Command) -> anyhow::Result<ExitStatus> {
    command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting `{}`", command_line(command)))
}

/// A background server; it is asked to stop when this value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    lines: Receiver<String>,
    name: String,
}

impl Server {
    /// Starts it with its stderr redirected to `log`.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let name = command_line(command);
        let complaints =
            File::create(log).with_context(|| format!("creating {}", log.display()))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .with_context(|| format!("starting `{name}`"))?;
        let stdout = child.stdout.take().context("stdout is not a pipe")?;
        let (sender, lines) = channel();
        // Keeps reading after the address was found, so that the server never blocks.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Ok(Self { child, lines, name })
    }

    /// Waits for the first address of the form `http://127.0.0.1:PORT` on stdout.
    pub fn origin(&self) -> anyhow::Result<String> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(origin) = loopback_origin(&line) {
                        return Ok(origin);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    bail!("`{}` printed no address in time", self.name)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("`{}` ended without an address", self.name)
                }
            }
        }
    }

    /// Resident memory in KiB: now, and at its peak.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        Ok(Memory {
            now_kib: kib(&status, "VmRSS:").context("the kernel does not report VmRSS")?,
            peak_kib: kib(&status, "VmHWM:").context("the kernel does not report VmHWM")?,
        })
    }
}

/// A field of `/proc/PID/status`.
fn kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub now_kib: u64,
    pub peak_kib: u64,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The standard library can only kill; a server asked to stop also stops its children.
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .stderr(Stdio::null())
            .status();
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn loopback_origin(line: &str) -> Option<String> {
    const START: &str = "http://127.0.0.1:";
    let rest = &line[line.find(START)? + START.len()..];
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty()).then(|| format!("{START}{port}"))
}

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::loopback_origin;

    #[test]
    fn the_origin_is_found_inside_a_sentence() {
        let line = "Endpoint  http://127.0.0.1:40123/mcp (loopback only)";
        assert_eq!(
            loopback_origin(line).as_deref(),
            Some("http://127.0.0.1:40123")
        );
        assert_eq!(loopback_origin("listening on http://127.0.0.1:"), None);
    }
}
