//! Finds and ends processes that were started by processes we started.

use std::collections::HashMap;
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The process below `root` whose command line contains `word`.
#[track_caller]
pub(crate) fn descendant(root: u32, word: &str) -> u32 {
    let parents = parents();
    let below_root = |pid: u32| {
        std::iter::successors(Some(pid), |pid| parents.get(pid).copied()).any(|pid| pid == root)
    };
    let found = parents
        .keys()
        .copied()
        .find(|pid| below_root(*pid) && *pid != root && command_line(*pid).contains(word));
    found.unwrap_or_else(|| panic!("nothing below {root} has {word} in its command line"))
}

pub(crate) fn kill(pid: u32) {
    signal("-KILL", pid);
}

#[track_caller]
pub(crate) fn wait_until_gone(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    while is_alive(pid) {
        assert!(
            Instant::now() < deadline,
            "{} is still there",
            command_line(pid)
        );
        std::thread::sleep(MOMENT);
    }
}

/// Asks it to end, so that it can end its own children.
pub(crate) fn terminate(child: &mut Child) {
    signal("-TERM", child.id());
    wait_or_kill(child);
}

pub(crate) fn wait_or_kill(child: &mut Child) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(MOMENT);
    }
    let _ = child.kill();
    let _ = child.wait();
}

const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a process that is not ours to wait for.
const MOMENT: Duration = Duration::from_millis(10);

fn signal(signal: &str, pid: u32) {
    Command::new("kill")
        .args([signal, &pid.to_string()])
        .status()
        .unwrap();
}

fn parents() -> HashMap<u32, u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, parent(pid)?)))
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    status(pid, "PPid:")?.parse().ok()
}

/// A process that has ended may stay in the table until its parent asks how.
fn is_alive(pid: u32) -> bool {
    status(pid, "State:").is_some_and(|state| !state.starts_with('Z'))
}

fn status(pid: u32, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(value.trim().to_owned())
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
