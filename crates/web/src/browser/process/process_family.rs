//! The processes that a Chromium has started: its descendants, and processes that name its folder.
//!
//! Its crash handler detaches at its start, so descent by itself would not find it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions};

/// A killed process takes milliseconds to disappear, except while it writes to a slow disk.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn find_family(ancestor: Pid, folder: &Path) -> Vec<Pid> {
    let parents: HashMap<Pid, Pid> = all_pids()
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let members = parents.keys().copied().filter(|pid| {
        *pid != ancestor && (is_below(*pid, ancestor, &parents) || names_folder(*pid, folder))
    });
    members.collect()
}

/// Waits until the kernel has ended them, and reaps processes that were reparented to the gateway.
pub(super) fn wait_for_end(family: &[Pid]) {
    let until = Instant::now() + END_TIMEOUT;
    while family.iter().any(|pid| is_alive(*pid)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(2));
    }
    for pid in family {
        let _ = rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG);
    }
}

fn all_pids() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn is_below(pid: Pid, ancestor: Pid, parents: &HashMap<Pid, Pid>) -> bool {
    let mut next = parents.get(&pid);
    while let Some(parent) = next {
        if *parent == ancestor {
            return true;
        }
        next = parents.get(parent);
    }
    false
}

/// The folder has a random name, which only its own processes have in their arguments.
fn names_folder(pid: Pid, folder: &Path) -> bool {
    let folder = folder.as_os_str().as_bytes();
    let arguments = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    arguments.is_ok_and(|arguments| {
        arguments
            .windows(folder.len())
            .any(|window| window == folder)
    })
}

fn parent_of(pid: Pid) -> Option<Pid> {
    Pid::from_raw(read_stat(pid)?.1)
}

fn is_alive(pid: Pid) -> bool {
    read_stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// Returns the state and the parent. A name may contain anything, so the fields are counted from
/// its end.
fn read_stat(pid: Pid) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
