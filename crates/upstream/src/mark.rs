//! The mark that every child carries in its environment, and by which it is known as ours later.
//!
//! Its own children inherit it, so that a process which detached itself is still found, and so are
//! the children of a gateway that was killed: the next one ends them. Process numbers mean nothing
//! in another pid namespace or after the machine was started anew, so the mark names both.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Pid;

use crate::family::Process;

/// Earlier gateways called theirs `KITBAG_CHILD` and end whatever carries one they cannot read.
pub(crate) const VARIABLE: &str = "KITBAG_CHILD_OF";

/// Which child of which gateway.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    owner: Owner,
    child: u64,
}

/// A gateway, told apart from any other that there was or is on this machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    boot: String,
    namespace: String,
    pid: u32,
    started: u64,
}

impl Mark {
    pub(crate) fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self {
            owner: Owner::this().clone(),
            child: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// What a process carries, if its environment can be read. Only Linux shows that; on other
    /// systems the process group is all we can end.
    pub(crate) fn of(pid: u32) -> Option<Self> {
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
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let (boot, namespace) = (part()?.to_owned(), part()?.to_owned());
        let (pid, started) = part()?.split_once('@')?;
        let owner = Owner {
            boot,
            namespace,
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        };
        Some(Self {
            owner,
            child: part()?.parse().ok()?,
        })
    }

    pub(crate) fn is_own(&self) -> bool {
        self.owner == *Owner::this()
    }

    /// Whether the gateway that launched it no longer lives.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.owner.has_died(Owner::this(), |pid| {
            Process::read(pid).map(|process| process.started)
        })
    }
}

impl Owner {
    fn this() -> &'static Self {
        static THIS: LazyLock<Owner> = LazyLock::new(|| {
            let pid = std::process::id();
            Owner {
                boot: boot(),
                namespace: namespace(),
                pid,
                started: Process::read(pid).map_or(0, |process| process.started),
            }
        });
        &THIS
    }

    /// Whether this one has ended, as `observer` can tell. Of a gateway whose processes have other
    /// numbers there than here, nothing can be told.
    fn has_died(&self, observer: &Self, started: impl Fn(u32) -> Option<u64>) -> bool {
        let comparable = self.boot == observer.boot && self.namespace == observer.namespace;
        comparable && self != observer && started(self.pid) != Some(self.started)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Owner {
            boot,
            namespace,
            pid,
            started,
        } = &self.owner;
        write!(f, "{boot}/{namespace}/{pid}@{started}/{}", self.child)
    }
}

/// Living processes that carry a wanted mark.
pub(crate) fn marked(wanted: impl Fn(&Mark) -> bool) -> Vec<Pid> {
    let carries = |pid: &u32| Mark::of(*pid).is_some_and(|mark| wanted(&mark));
    let living = |pid: &u32| Process::read(*pid).is_some_and(|process| !process.has_ended);
    let all = crate::family::all_pids().filter(carries).filter(living);
    all.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .collect()
}

/// Changes whenever the machine starts; where the kernel does not tell, process numbers and their
/// start times are all there is.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    plain(&id).unwrap_or_else(|| "boot".to_owned())
}

fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_str()
        .and_then(plain)
        .unwrap_or_else(|| "pid".to_owned())
}

/// `pid:[4026531836]` without what a mark has a use of its own for.
fn plain(text: &str) -> Option<String> {
    let kept: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    Some(kept).filter(|kept| !kept.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(boot: &str, namespace: &str, pid: u32, started: u64) -> Owner {
        Owner {
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            pid,
            started,
        }
    }

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mark = Mark::next();
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark.clone()));
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
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_gateways_of_this_namespace_and_this_start_of_the_machine_are_taken_for_dead() {
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
