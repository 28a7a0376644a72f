//! The system calls that a worker needs, and no others.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// From here on, any other system call ends the process.
pub(super) fn filter() -> Result<(), String> {
    let program = program().map_err(|error| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let allowed = FREE.iter().map(|call| (*call, Vec::new()));
    let rules: BTreeMap<_, _> = allowed.chain(bound()?).collect();
    SeccompFilter::new(
        rules,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?
    .try_into()
}

/// Allowed with any arguments. None of them reaches a file: the only ones open are the pipe.
const FREE: &[i64] = &[
    // The pipe to the gateway.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    // Memory, for the allocators of Rust and C; three more are bound below.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_getcpu,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    // A panic, an abort and the end of the process.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

type BoundCall = (i64, Vec<SeccompRule>);

/// Allowed with harmless arguments.
fn bound() -> Result<[BoundCall; 4], seccompiler::BackendError> {
    Ok([
        (
            libc::SYS_mmap,
            vec![SeccompRule::new(vec![not_executable()?])?],
        ),
        (
            libc::SYS_mprotect,
            vec![SeccompRule::new(vec![not_executable()?])?],
        ),
        (
            libc::SYS_prctl,
            vec![SeccompRule::new(vec![names_memory()?])?],
        ),
        (libc::SYS_tgkill, vec![SeccompRule::new(own_abort()?)?]),
    ])
}

/// The protection is the third argument of both calls.
fn not_executable() -> Result<SeccompCondition, seccompiler::BackendError> {
    let executable = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
    SeccompCondition::new(2, SeccompCmpArgLen::Dword, executable, 0)
}

/// The allocator gives its memory a name; `prctl` does much else.
fn names_memory() -> Result<SeccompCondition, seccompiler::BackendError> {
    let names = libc::PR_SET_VMA as u64;
    SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, names)
}

/// `abort` sends its signal to the own process.
fn own_abort() -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    let own = u64::from(std::process::id());
    Ok(vec![
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, own)?,
        SeccompCondition::new(
            2,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            libc::SIGABRT as u64,
        )?,
    ])
}
