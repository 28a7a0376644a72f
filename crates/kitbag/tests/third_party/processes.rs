//! Ends processes of a test, and waits for processes that others started.

use std::process::Child;
use std::time::{Duration, Instant};

use kitbag_testkit::processes::{alive, command_line, terminate, wait};

#[track_caller]
pub(crate) fn wait_until_gone(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    while alive(pid) {
        assert!(
            Instant::now() < deadline,
            "{} is still there",
            command_line(pid)
        );
        std::thread::sleep(MOMENT);
    }
}

/// Asks the process to end, so that it can end its own children.
pub(crate) fn end(child: &mut Child) {
    terminate(child.id());
    wait_or_kill(child);
}

pub(crate) fn wait_or_kill(child: &mut Child) {
    if wait(child, PATIENCE).is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between checks of a process that is not our child.
const MOMENT: Duration = Duration::from_millis(10);
