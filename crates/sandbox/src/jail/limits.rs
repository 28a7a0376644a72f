//! The worker's memory limit and other rlimits of the kernel: a backstop for the engine's limits.

use std::fs;

use rustix::process::{Resource, Rlimit};

use crate::protocol::JailLimits;

pub(super) fn limit_memory_and_cpu(jail: JailLimits, mapped: u64) -> Result<(), String> {
    let limits = [
        (Resource::As, max_address_space(mapped, jail.memory)),
        (Resource::Cpu, jail.cpu.as_secs().max(1)),
        // `poll` requires the number of its files to be within the limit.
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ];
    limits
        .into_iter()
        .try_for_each(|(what, most)| limit(what, most))?;
    lower_priority()
}

/// A busy program gets the processor only when the gateway and its servers do not need it.
fn lower_priority() -> Result<(), String> {
    /// Of 19: programs that cannot lower their priority further still make progress.
    const NICE: i32 = 15;
    rustix::process::setpriority_process(None, NICE).map_err(|error| format!("priority: {error}"))
}

fn limit(what: Resource, most: u64) -> Result<(), String> {
    // The signal for too much processor time comes at the lower limit, the kill at the higher.
    let grace = u64::from(what == Resource::Cpu);
    let both = Rlimit {
        current: Some(most),
        maximum: Some(most + grace),
    };
    rustix::process::setrlimit(what, both).map_err(|error| format!("{what:?}: {error}"))
}

/// In addition to the current size: the program's heap, as much again for fragmentation and for
/// texts in transit to the gateway, and frames.
fn max_address_space(mapped: u64, memory: usize) -> u64 {
    mapped + 2 * memory as u64 + FRAMES
}

/// One frame being read, one being written, and their parts.
const FRAMES: u64 = 96 << 20;

/// The bytes of address space that the process has mapped.
pub(super) fn mapped_bytes() -> Result<u64, String> {
    let pages = fs::read_to_string("/proc/self/statm").map_err(|error| error.to_string())?;
    let first = pages
        .split(' ')
        .next()
        .and_then(|pages| pages.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    first
        .map(|pages| pages * page)
        .ok_or_else(|| "/proc/self/statm has no number".to_owned())
}
