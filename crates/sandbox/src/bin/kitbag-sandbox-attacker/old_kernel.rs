//! Simulates a kernel without a layer of the jail: a filter fails the layer's system calls as such
//! a kernel would.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Makes the layer unavailable to this process.
pub(crate) fn simulate_missing(layer: &str) -> io::Result<()> {
    let calls = match layer {
        "Landlock" => vec![(libc::SYS_landlock_create_ruleset, Vec::new())],
        "seccomp" => vec![
            (libc::SYS_seccomp, Vec::new()),
            (libc::SYS_prctl, vec![sets_filter()?]),
        ],
        other => return Err(io::Error::other(other.to_owned())),
    };
    let filter = SeccompFilter::new(
        calls.into_iter().collect::<BTreeMap<_, _>>(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?,
    );
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

/// The older way to set a filter.
fn sets_filter() -> io::Result<SeccompRule> {
    let sets = libc::PR_SET_SECCOMP as u64;
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, sets);
    let conditions = vec![condition.map_err(io::Error::other)?];
    SeccompRule::new(conditions).map_err(io::Error::other)
}
