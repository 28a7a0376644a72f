//! Attacks on the machine: system calls that code in a worker would make if the engine were
//! compromised.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use nix::sched::CloneFlags;
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, ResolveFlags};
use rustix::mount::MountFlags;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal};

use crate::Attack;

pub(crate) const ATTACKS: &[Attack] = &[
    ("read a file", || fs::read("/etc/passwd").map(drop)),
    ("read the environment", || {
        fs::read("/proc/self/environ").map(drop)
    }),
    ("read the memory", || fs::read("/proc/self/mem").map(drop)),
    ("read the first process", || {
        fs::read("/proc/1/cmdline").map(drop)
    }),
    ("read another descriptor", || {
        fs::read("/proc/self/fd/3").map(drop)
    }),
    // The test's command line opens it before the worker starts.
    ("use an inherited descriptor", || Ok(nix::unistd::close(5)?)),
    ("look at a file", || fs::metadata("/etc/passwd").map(drop)),
    ("list a folder", || fs::read_dir("/").map(drop)),
    ("write a file", || fs::write(VICTIM, "x")),
    ("make a folder", || fs::create_dir(NEW)),
    ("make a symlink", || symlink("/etc/passwd", NEW)),
    ("make a link", || fs::hard_link(VICTIM, NEW)),
    ("remove a file", || fs::remove_file(VICTIM)),
    ("rename a file", || fs::rename(VICTIM, NEW)),
    ("open with openat2", openat2),
    ("make a file in memory", || {
        Ok(rustix::fs::memfd_create("x", MemfdFlags::empty()).map(drop)?)
    }),
    ("make a pipe", || Ok(rustix::pipe::pipe().map(drop)?)),
    ("connect to an address", || {
        TcpStream::connect("127.0.0.1:1").map(drop)
    }),
    ("listen", || TcpListener::bind("127.0.0.1:0").map(drop)),
    ("send a datagram", || {
        UdpSocket::bind("127.0.0.1:0").map(drop)
    }),
    ("connect to a local socket", || {
        UnixStream::connect("/run/x").map(drop)
    }),
    ("start a process", || {
        Command::new("/bin/true").status().map(drop)
    }),
    ("become another program", || {
        Err(Command::new("/bin/true").exec())
    }),
    ("start a thread", start_thread),
    ("trace", || Ok(nix::sys::ptrace::traceme()?)),
    ("trace the gateway", || {
        Ok(nix::sys::ptrace::attach(nix::unistd::Pid::parent())?)
    }),
    ("kill the gateway", || kill(rustix::process::getppid())),
    ("kill the first process", || kill(Pid::from_raw(1))),
    ("kill the group", || {
        Ok(rustix::process::kill_current_process_group(Signal::KILL)?)
    }),
    ("map executable memory", map_executable),
    ("make memory executable", make_executable),
    ("raise a limit", raise_limit),
    ("become dumpable", || {
        Ok(rustix::process::set_dumpable_behavior(
            DumpableBehavior::Dumpable,
        )?)
    }),
    ("outlive the gateway", || {
        Ok(rustix::process::set_parent_process_death_signal(None)?)
    }),
    ("change the root", || Ok(rustix::process::chroot("/tmp")?)),
    ("leave the namespace", || {
        Ok(nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?)
    }),
    ("mount", || {
        Ok(rustix::mount::mount(
            "none",
            "/mnt",
            "tmpfs",
            MountFlags::empty(),
            None,
        )?)
    }),
    ("sleep", || {
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }),
    ("crash", crash),
    ("abort", || std::process::abort()),
    ("panic", || panic!("an attack")),
    ("overflow the stack", || overflow(0).map(drop)),
    ("fill the memory", fill_memory),
];

/// A file that the tests create, so that a successful attack harms nothing.
const VICTIM: &str = "/tmp/kitbag-sandbox-victim";
const NEW: &str = "/tmp/kitbag-sandbox-new";

fn openat2() -> io::Result<()> {
    let flags = OFlags::RDONLY;
    Ok(rustix::fs::openat2(
        CWD,
        "/etc/passwd",
        flags,
        Mode::empty(),
        ResolveFlags::empty(),
    )
    .map(drop)?)
}

fn start_thread() -> io::Result<()> {
    std::thread::Builder::new().spawn(|| ()).map(drop)
}

fn kill(process: Option<Pid>) -> io::Result<()> {
    let process = process.ok_or(io::ErrorKind::NotFound)?;
    // Succeeds if it could be killed, without killing it.
    Ok(rustix::process::test_kill_process(process)?)
}

fn map_executable() -> io::Result<()> {
    let memory = region::alloc(1, region::Protection::READ_WRITE_EXECUTE);
    memory.map(drop).map_err(io::Error::other)
}

fn make_executable() -> io::Result<()> {
    memmap2::MmapMut::map_anon(1)?.make_exec().map(drop)
}

fn raise_limit() -> io::Result<()> {
    let more = Rlimit {
        current: Some(1 << 40),
        maximum: Some(1 << 40),
    };
    Ok(rustix::process::setrlimit(Resource::As, more)?)
}

/// Rust handles the first such signal, and lets the second take its default action.
fn crash() -> io::Result<()> {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, Signal::SEGV)?;
    Ok(rustix::process::kill_process(own, Signal::SEGV)?)
}

#[expect(
    unconditional_recursion,
    clippy::only_used_in_recursion,
    reason = "this is the attack"
)]
fn overflow(depth: u64) -> io::Result<u64> {
    let below = overflow(depth + 1)?;
    Ok(std::hint::black_box(below) + 1)
}

fn fill_memory() -> io::Result<()> {
    let mut held = Vec::new();
    loop {
        held.push(vec![1_u8; 1 << 20]);
        std::hint::black_box(&held);
    }
}
