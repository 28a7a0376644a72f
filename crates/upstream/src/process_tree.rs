//! The processes that servers have started. Orphans are reparented to the gateway, and end with the
//! server they came from, even if nothing about them names it.
//!
//! A process that ends leaves its children to the nearest subreaper, which the gateway is. The
//! server of an orphan is known if it was seen below it before, or carries its mark; of the others
//! it is only known which servers were running when they started. Such a process is ended when the
//! last server it may have come from has ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::{LazyLock, Mutex, MutexGuard};

use rustix::process::{Pid, WaitOptions};
use tokio::process::{Child, Command};

use crate::child_mark::ChildMark;
use kitbag_domain::sync::lock;

/// A process as `/proc` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    pid: u32,
    parent: u32,
    group: u32,
    /// In kernel ticks. It distinguishes a process from a later one with the same pid.
    pub(crate) started: u64,
    /// True for a zombie, whose parent has not read its status yet.
    pub(crate) has_ended: bool,
}

#[derive(Default)]
struct ProcessTree {
    /// The launched servers.
    servers: BTreeMap<u32, (ChildMark, u64)>,
    /// Descendants and orphans, with the servers they may have come from.
    others: HashMap<(u32, u64), BTreeSet<ChildMark>>,
}

/// Launches a server and registers as the subreaper of its descendants.
pub(crate) fn launch(command: &mut Command, mark: &ChildMark) -> io::Result<Child> {
    #[cfg(target_os = "linux")]
    {
        static REGISTERED: LazyLock<()> = LazyLock::new(|| {
            let _refused = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        });
        LazyLock::force(&REGISTERED);
    }
    // A child must be recorded before the next update, or it would be taken for an orphan.
    let mut tree = lock_tree();
    let child = command.spawn()?;
    if let Some(pid) = child.id() {
        let started = ProcessEntry::read(pid).map_or(0, |process| process.started);
        tree.servers.insert(pid, (mark.clone(), started));
    }
    Ok(child)
}

/// Records the ancestry of all processes, and which have ended.
pub(crate) fn update_tree() {
    let mut tree = lock_tree();
    if !tree.servers.is_empty() || !tree.others.is_empty() {
        tree.update();
    }
}

/// Returns the live processes that can only have come from this server.
pub(crate) fn find_processes_of(mark: &ChildMark) -> Vec<Pid> {
    let mut tree = lock_tree();
    tree.update();
    tree.select_pids(|from| from.len() == 1 && from.contains(mark))
}

/// Returns the live processes that came from any server.
pub(crate) fn find_all_processes() -> Vec<Pid> {
    let mut tree = lock_tree();
    tree.update();
    tree.select_pids(|_| true)
}

/// Removes a server that has ended with all its processes.
pub(crate) fn forget_server(mark: &ChildMark) {
    let mut tree = lock_tree();
    tree.servers.retain(|_, (launched, _)| launched != mark);
    tree.others.retain(|_, from| {
        from.remove(mark);
        !from.is_empty()
    });
}

fn lock_tree() -> MutexGuard<'static, ProcessTree> {
    static TREE: LazyLock<Mutex<ProcessTree>> = LazyLock::new(Mutex::default);
    lock(&TREE)
}

impl ProcessTree {
    fn update(&mut self) {
        let all = all_processes();
        let Some(us) = all.get(&std::process::id()).copied() else {
            return;
        };
        let children = group_by_parent(&all);
        for (pid, (mark, _)) in self.servers.clone() {
            self.add_descendants(pid, &BTreeSet::from([mark]), &children);
        }
        for process in children.get(&us.pid).into_iter().flatten() {
            // A process that the gateway starts for itself stays in its group; a server leads its
            // own.
            if !self.servers.contains_key(&process.pid) && process.group != us.group {
                self.add_orphan(*process, &children);
            }
        }
        self.others.retain(|(pid, started), _| {
            let process = all.get(pid).filter(|process| !process.has_ended);
            process.is_some_and(|process| process.started == *started)
        });
    }

    /// Records an orphan and all its descendants.
    fn add_orphan(&mut self, process: ProcessEntry, children: &HashMap<u32, Vec<ProcessEntry>>) {
        let from = self.possible_servers(process);
        self.others.insert(process.key(), from.clone());
        self.add_descendants(process.pid, &from, children);
        if process.has_ended {
            process.reap();
        }
    }

    fn add_descendants(
        &mut self,
        pid: u32,
        from: &BTreeSet<ChildMark>,
        below: &HashMap<u32, Vec<ProcessEntry>>,
    ) {
        for process in below.get(&pid).into_iter().flatten() {
            self.others.insert(process.key(), from.clone());
            self.add_descendants(process.pid, from, below);
        }
    }

    /// Returns the servers that an orphan may have come from.
    fn possible_servers(&self, process: ProcessEntry) -> BTreeSet<ChildMark> {
        if let Some(known) = self.others.get(&process.key()) {
            return known.clone();
        }
        if let Some(mark) = ChildMark::read_from_process(process.pid).filter(ChildMark::is_own) {
            return BTreeSet::from([mark]);
        }
        let before = self
            .servers
            .values()
            .filter(|(_, started)| *started <= process.started);
        before.map(|(mark, _)| mark.clone()).collect()
    }

    fn select_pids(&self, wanted: impl Fn(&BTreeSet<ChildMark>) -> bool) -> Vec<Pid> {
        let wanted = self.others.iter().filter(|(_, from)| wanted(from));
        wanted
            .filter_map(|((pid, _), _)| Pid::from_raw(i32::try_from(*pid).ok()?))
            .collect()
    }
}

impl ProcessEntry {
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::parse(
            pid,
            &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
        )
    }

    /// The name may contain anything, so the fields are counted from its end.
    fn parse(pid: u32, stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            pid,
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn key(self) -> (u32, u64) {
        (self.pid, self.started)
    }

    /// Reaps a zombie.
    fn reap(self) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn all_processes() -> HashMap<u32, ProcessEntry> {
    all_pids()
        .filter_map(|pid| Some((pid, ProcessEntry::read(pid)?)))
        .collect()
}

fn group_by_parent(all: &HashMap<u32, ProcessEntry>) -> HashMap<u32, Vec<ProcessEntry>> {
    let mut children: HashMap<u32, Vec<ProcessEntry>> = HashMap::new();
    for process in all.values() {
        children.entry(process.parent).or_default().push(*process);
    }
    children
}

/// Returns the processes of this machine or container. There are none if `/proc` belongs to another
/// pid namespace, where the pids mean other processes.
pub(crate) fn all_pids() -> impl Iterator<Item = u32> {
    let this = std::fs::read_link("/proc/self")
        .ok()
        .and_then(|link| link.to_str()?.parse().ok());
    let entries = std::fs::read_dir("/proc")
        .ok()
        .filter(|_| this == Some(std::process::id()));
    let entries = entries.into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_any_name_is_parsed() {
        let stat = "688 (a) b) (c) S 612 610 18317 0 -1 4194304 102 0 0 0 0 0 0 0 20 0 1 0 168820 3133440 409";
        let read = ProcessEntry::parse(688, stat).unwrap();
        let expected = ProcessEntry {
            pid: 688,
            parent: 612,
            group: 610,
            started: 168_820,
            has_ended: false,
        };
        assert_eq!(read, expected);
        assert!(
            ProcessEntry::parse(688, &stat.replace(") S", ") Z"))
                .unwrap()
                .has_ended
        );
        assert_eq!(ProcessEntry::parse(1, "1 (x) S 0"), None);
    }

    #[test]
    fn a_process_ends_with_the_last_server_it_may_have_come_from() {
        let (first, second) = (ChildMark::next(), ChildMark::next());
        let mut tree = ProcessTree::default();
        tree.servers.insert(1, (first.clone(), 10));
        tree.servers.insert(2, (second.clone(), 20));
        let process = |started| ProcessEntry {
            pid: 0,
            parent: 0,
            group: 0,
            started,
            has_ended: false,
        };
        assert_eq!(
            tree.possible_servers(process(15)),
            BTreeSet::from([first.clone()]),
            "the second was not there yet"
        );
        assert_eq!(
            tree.possible_servers(process(25)),
            BTreeSet::from([first, second])
        );
        assert_eq!(
            tree.possible_servers(process(5)),
            BTreeSet::new(),
            "none of ours"
        );
    }
}
