//! The layers on Linux.

use std::fmt::Display;
use std::fs;
use std::os::fd::RawFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{JailLayer, LayerReport, TIME_ZONE, limits, system_calls};
use crate::protocol::JailLimits;

/// Closes layers, and reports on all of them whether they hold on this machine.
pub(crate) fn close(layers: &[JailLayer], jail: JailLimits) -> Vec<LayerReport> {
    // Must be read before Landlock closes the file.
    let mapped = limits::mapped_bytes();
    let mut reports = Vec::new();
    for layer in JailLayer::ALL {
        let closed = match layers.contains(&layer) {
            true => close_layer(layer, jail, &mapped),
            false => Err("left open".to_owned()),
        };
        reports.push(LayerReport {
            layer,
            missing: closed.err(),
        });
    }
    reports
}

fn close_layer(
    layer: JailLayer,
    jail: JailLimits,
    mapped: &Result<u64, String>,
) -> Result<(), String> {
    match layer {
        JailLayer::Descriptors => close_inherited_files(),
        JailLayer::Environment => detach_from_environment(),
        JailLayer::Undumpable => {
            rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(text)
        }
        JailLayer::ParentDeath => {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(text)
        }
        JailLayer::Capabilities => drop_capabilities(),
        JailLayer::Landlock => restrict_with_landlock(),
        JailLayer::Limits => limits::limit_memory_and_cpu(jail, mapped.clone()?),
        JailLayer::NoNewPrivileges => rustix::thread::set_no_new_privs(true).map_err(text),
        JailLayer::Seccomp => system_calls::install_filter(),
    }
}

/// Closes files that the gateway inherited, such as from a shell. The directory being listed is
/// open itself, and closed before the others.
fn close_inherited_files() -> Result<(), String> {
    for number in open_files()? {
        // The number of the directory is already closed.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

fn open_files() -> Result<Vec<RawFd>, String> {
    let entries = fs::read_dir("/proc/self/fd").map_err(text)?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
    Ok(numbers.filter(|number| *number > LAST_PIPE_FD).collect())
}

/// Standard error, which is discarded.
const LAST_PIPE_FD: RawFd = 2;

fn detach_from_environment() -> Result<(), String> {
    rustix::process::chdir("/").map_err(text)?;
    match std::env::vars_os().find(|(name, _)| name != TIME_ZONE.0) {
        None => Ok(()),
        Some((name, _)) => Err(format!("the variable {} is set", name.display())),
    }
}

fn drop_capabilities() -> Result<(), String> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(text)
}

fn restrict_with_landlock() -> Result<(), String> {
    match deny_all().map_err(text)? {
        RulesetStatus::NotEnforced => Err(NO_LANDLOCK.to_owned()),
        // Older kernels cannot deny TCP, abstract sockets and signals, which seccomp covers.
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

const NO_LANDLOCK: &str = "the kernel lacks it, or it is disabled: use Linux 5.13 or later, \
                           and name landlock in the boot parameter lsm=";

fn deny_all() -> Result<RulesetStatus, RulesetError> {
    // The newest ABI, which denies signals; the crate drops features that the kernel lacks.
    let abi = ABI::V6;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?
        .restrict_self()?;
    Ok(restricted.ruleset)
}

fn text(error: impl Display) -> String {
    error.to_string()
}
