//! Signals to processes, and running processes.

use std::fs;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub fn terminate(pid: u32) {
    send(pid, Signal::TERM);
}

pub fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

/// True if the process is running, and not a zombie.
pub fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            stat.rsplit_once(')')
                .map(|(_, rest)| rest.trim_start().to_owned())
        })
        .is_some_and(|rest| !rest.starts_with(['Z', 'X']))
}

/// The running children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    all()
        .filter(|pid| alive(*pid) && parent_of(*pid) == Some(parent))
        .collect()
}

/// Returns the process below `root` whose command line contains `word`.
#[track_caller]
#[must_use]
pub fn descendant(root: u32, word: &str) -> u32 {
    all()
        .find(|pid| *pid != root && is_below(root, *pid) && command_line(*pid).contains(word))
        .unwrap_or_else(|| panic!("nothing below {root} has {word} in its command line"))
}

fn is_below(root: u32, pid: u32) -> bool {
    std::iter::successors(Some(pid), |pid| parent_of(*pid)).any(|pid| pid == root)
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
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
pub fn find_by_command_line(words: &str) -> Vec<u32> {
    all()
        .filter(|pid| alive(*pid) && command_line(*pid).contains(words))
        .collect()
}

/// The memory in use by a process, without memory that is only reserved.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub now_mb: usize,
    pub peak_mb: usize,
}

pub fn memory(pid: u32) -> Memory {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    Memory {
        now_mb: megabytes(&status, "VmRSS:"),
        peak_mb: megabytes(&status, "VmHWM:"),
    }
}

fn megabytes(status: &str, field: &str) -> usize {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().unwrap() / 1024
}

/// Returns a process's limit of open files, and the limit up to which it may raise it.
pub fn open_files(pid: u32) -> (usize, usize) {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .unwrap();
    let mut numbers = line
        .split_whitespace()
        .map(|text| text.parse().unwrap_or(usize::MAX));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Waits without the async runtime, because a destructor has none.
pub fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
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

#[must_use]
pub fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
