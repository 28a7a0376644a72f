//! Signals, and who is still alive.

use std::fs;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}

pub(crate) fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

/// Whether the process runs; one that has ended and was not yet fetched does not.
pub(crate) fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            stat.rsplit_once(')')
                .map(|(_, rest)| rest.trim_start().to_owned())
        })
        .is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// The processes that this one has launched and that run.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| alive(*pid) && parent_of(*pid) == Some(parent))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// The processes whose command line contains `words`, which a test makes unique by a path.
pub(crate) fn running(words: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| alive(*pid) && command_line(*pid).contains(words))
        .collect()
}

/// What a process takes of the memory, without what it only has on paper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) now_mb: usize,
    pub(crate) peak_mb: usize,
}

pub(crate) fn memory(pid: u32) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.trim()
            .trim_end_matches(" kB")
            .parse::<usize>()
            .unwrap()
            / 1024
    };
    Memory {
        now_mb: field("VmRSS:"),
        peak_mb: field("VmHWM:"),
    }
}

/// How many files a process may have open, and how many it might allow itself.
pub(crate) fn open_files(pid: u32) -> (usize, usize) {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap();
    let number = |text: &str| text.parse().unwrap_or(usize::MAX);
    let mut numbers = line.split_whitespace().map(number);
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Waits without the runtime, because a destructor has none.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended by itself.
    let _ = kill_process(pid, signal);
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
