//! The system calls that a worker needs, and no others.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Installs the filter. Afterwards, any other system call kills the process.
pub(super) fn install_filter() -> Result<(), String> {
    let program = program().map_err(|error| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let allowed = FREE.iter().map(|call| (*call, Vec::new()));
    let rules: BTreeMap<_, _> = allowed.chain(restricted_calls()?).collect();
    SeccompFilter::new(
        rules,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        TargetArch::try_from(std::env::consts::ARCH)?,
    )?
    .try_into()
}

/// Allowed with any arguments. None of them reaches a file, since only the pipe is open.
const FREE: &[i64] = &[
    // The pipe to the gateway.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    // Memory, for the allocators of Rust and C; three more are restricted below.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_getcpu,
    // Time and randomness.
    libc::SYS_clock_gettime,
    libc::SYS_getrusage,
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

/// Allowed only with harmless arguments.
fn restricted_calls() -> Result<[BoundCall; 4], seccompiler::BackendError> {
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

/// The allocator names its memory; `prctl` can do much else.
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

#[cfg(test)]
mod tests {
    use seccompiler::sock_filter;

    use super::*;

    /// The kernel's verdict on a system call, computed from the filter.
    fn is_allowed(call: i64, arguments: [u64; 6]) -> bool {
        let filter = program().unwrap();
        let data = call_data(call, arguments);
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &filter[at];
            at += 1;
            match step.code {
                LOAD => value = word(&data, step.k),
                AND => value &= step.k,
                RETURN => return step.k == u32::from(SeccompAction::Allow),
                JUMP => at += step.k as usize,
                _ => at += jump(step, value),
            }
        }
    }

    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const RETURN: u16 = 0x06;
    const JUMP: u16 = 0x05;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_GREATER: u16 = 0x25;
    const JUMP_IF_NOT_LESS: u16 = 0x35;

    fn jump(step: &sock_filter, value: u32) -> usize {
        let holds = match step.code {
            JUMP_IF_EQUAL => value == step.k,
            JUMP_IF_GREATER => value > step.k,
            JUMP_IF_NOT_LESS => value >= step.k,
            other => panic!("the filter has the instruction {other:#x}"),
        };
        usize::from(if holds { step.jt } else { step.jf })
    }

    /// `struct seccomp_data`: the call, the architecture, the instruction, the arguments.
    fn call_data(call: i64, arguments: [u64; 6]) -> Vec<u8> {
        let head = [u32::try_from(call).unwrap(), ARCHITECTURE, 0, 0];
        let head = head.into_iter().flat_map(u32::to_ne_bytes);
        head.chain(arguments.into_iter().flat_map(u64::to_ne_bytes))
            .collect()
    }

    #[cfg(target_arch = "x86_64")]
    const ARCHITECTURE: u32 = 0xc000_003e;
    #[cfg(target_arch = "aarch64")]
    const ARCHITECTURE: u32 = 0xc000_00b7;

    fn word(data: &[u8], at: u32) -> u32 {
        let at = at as usize;
        u32::from_ne_bytes(data[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn no_other_system_call_is_allowed_whatever_its_number() {
        // Beyond today's last number, and the same numbers in the 32-bit table of x86.
        let all = (0..1024).chain(0x4000_0000..0x4000_0400);
        let allowed: Vec<_> = all.filter(|call| is_allowed(*call, [0; 6])).collect();
        let mut listed: Vec<_> = FREE
            .iter()
            .copied()
            .chain([libc::SYS_mmap, libc::SYS_mprotect])
            .collect();
        listed.sort_unstable();
        assert_eq!(allowed, listed);
    }

    #[test]
    fn arguments_decide_where_a_call_can_do_harm() {
        let own = u64::from(std::process::id());
        let names = libc::PR_SET_VMA as u64;
        let cases = [
            (libc::SYS_mmap, [0, 4096, 3, 0x22, 0, 0], true),
            (libc::SYS_mmap, [0, 4096, 7, 0x22, 0, 0], false),
            (libc::SYS_mprotect, [0, 4096, 1, 0, 0, 0], true),
            (libc::SYS_mprotect, [0, 4096, 5, 0, 0, 0], false),
            (libc::SYS_prctl, [names, 0, 0, 0, 0, 0], true),
            (
                libc::SYS_prctl,
                [libc::PR_SET_DUMPABLE as u64, 1, 0, 0, 0, 0],
                false,
            ),
            (
                libc::SYS_tgkill,
                [own, own, libc::SIGABRT as u64, 0, 0, 0],
                true,
            ),
            (
                libc::SYS_tgkill,
                [1, 1, libc::SIGABRT as u64, 0, 0, 0],
                false,
            ),
            (
                libc::SYS_tgkill,
                [own, own, libc::SIGCONT as u64, 0, 0, 0],
                false,
            ),
        ];
        for (call, arguments, expected) in cases {
            assert_eq!(
                is_allowed(call, arguments),
                expected,
                "{call} {arguments:?}"
            );
        }
    }
}
