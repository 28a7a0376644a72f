//! The mark in every child's environment by which the gateway recognizes it later.
//!
//! Children of a child inherit it, so a detached process is still found, and so are the children of
//! a killed gateway: the next gateway ends them. Process ids are meaningless in another pid
//! namespace or after a reboot, so the mark includes both.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;

use crate::process_tree::{ProcessEntry, all_pids};

/// Earlier gateways used `KITBAG_CHILD` and end every process whose mark they cannot parse.
pub(crate) const VARIABLE: &str = "KITBAG_CHILD_OF";

/// Identifies one child of one gateway.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChildMark {
    owner: GatewayProcess,
    child: u64,
}

/// Identifies a gateway among all that ever ran on this machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GatewayProcess {
    boot: String,
    namespace: String,
    pid: u32,
    started: u64,
}

impl ChildMark {
    pub(crate) fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self {
            owner: GatewayProcess::current().clone(),
            child: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Returns the mark of a process, if its environment can be read. Only Linux allows that; on
    /// other systems only the process group can be ended.
    pub(crate) fn read_from_process(pid: u32) -> Option<Self> {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let value = environment.split(|byte| *byte == 0).find_map(|variable| {
            std::str::from_utf8(variable)
                .ok()?
                .strip_prefix(VARIABLE)?
                .strip_prefix('=')
        })?;
        Self::parse(value)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (boot, namespace) = (parts.next()?, parts.next()?);
        let (pid, started) = parts.next()?.split_once('@')?;
        if boot.is_empty() || namespace.is_empty() {
            return None;
        }
        let owner = GatewayProcess {
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        };
        Some(Self {
            owner,
            child: parts.next()?.parse().ok()?,
        })
    }

    pub(crate) fn is_own(&self) -> bool {
        self.owner == *GatewayProcess::current()
    }

    /// True if the gateway that launched it has ended.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.owner.has_died(GatewayProcess::current(), |pid| {
            ProcessEntry::read(pid).map(|process| process.started)
        })
    }
}

impl GatewayProcess {
    fn current() -> &'static Self {
        static THIS: LazyLock<GatewayProcess> = LazyLock::new(|| {
            let pid = std::process::id();
            GatewayProcess {
                boot: boot_id(),
                namespace: pid_namespace(),
                pid,
                started: ProcessEntry::read(pid).map_or(0, |process| process.started),
            }
        });
        &THIS
    }

    /// True if this gateway has ended, as far as `observer` can see. Nothing is known of a gateway
    /// in another pid namespace.
    fn has_died(&self, observer: &Self, started: impl Fn(u32) -> Option<u64>) -> bool {
        let comparable = self.boot == observer.boot && self.namespace == observer.namespace;
        comparable && self != observer && started(self.pid) != Some(self.started)
    }
}

impl fmt::Display for ChildMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GatewayProcess {
            boot,
            namespace,
            pid,
            started,
        } = &self.owner;
        write!(f, "{boot}/{namespace}/{pid}@{started}/{}", self.child)
    }
}

/// Returns the live processes whose mark matches.
pub(crate) fn find_marked_processes(wanted: impl Fn(&ChildMark) -> bool) -> Vec<Pid> {
    all_pids()
        .filter(|pid| ChildMark::read_from_process(*pid).is_some_and(|mark| wanted(&mark)))
        .filter(|pid| is_living(*pid))
        .filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect()
}

fn is_living(pid: u32) -> bool {
    ProcessEntry::read(pid).is_some_and(|process| !process.has_ended)
}

/// Returns a text that changes with every boot. Without one from the kernel, process ids and their
/// start times must suffice.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    strip_separators(&id).unwrap_or_else(|| "boot".to_owned())
}

fn pid_namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_str()
        .and_then(strip_separators)
        .unwrap_or_else(|| "pid".to_owned())
}

/// Returns `pid:[4026531836]` without the characters that separate the parts of a mark.
fn strip_separators(text: &str) -> Option<String> {
    let kept: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    Some(kept).filter(|kept| !kept.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(boot: &str, namespace: &str, pid: u32, started: u64) -> GatewayProcess {
        GatewayProcess {
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            pid,
            started,
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mark = ChildMark::next();
        assert_eq!(ChildMark::parse(&mark.to_string()), Some(mark.clone()));
        assert!(mark.is_own() && !mark.is_orphaned());
        for text in [
            "",
            "1@215217/0",
            "b/n/x@1/0",
            "b/n/1@1",
            "b//1@1/0",
            "/n/1@1/0",
            "b/n/1@1/y",
        ] {
            assert_eq!(ChildMark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_gateways_of_this_namespace_and_boot_can_be_found_dead() {
        let here = owner("b", "n", 10, 100);
        let living = |pid: u32| (pid == 7).then_some(70);
        for (other, died) in [
            (owner("b", "n", 7, 70), false),
            (owner("b", "n", 7, 69), true),
            (owner("b", "n", 8, 70), true),
            (owner("b", "n", 10, 100), false),
            (owner("b", "container", 8, 70), false),
            (owner("b", "container", 1, 70), false),
            (owner("before", "n", 8, 70), false),
        ] {
            assert_eq!(other.has_died(&here, living), died, "{other:?}");
        }
    }
}
