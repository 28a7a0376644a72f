//! The figures of this process from the operating system, where the system gives any.

use std::fs;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The figures of the process, in the units in which they are published.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    /// The start of the process, in seconds since the Unix epoch.
    pub started: f64,
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub open_files: Option<f64>,
    pub most_files: Option<f64>,
}

/// The moment at which the gateway began; it is read once.
static STARTED: LazyLock<f64> = LazyLock::new(|| {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
});

/// The number of ticks in a second in the times that Linux shows to programs, whatever its own
/// clock does.
const TICKS_PER_SECOND: f64 = 100.0;

impl Process {
    /// Makes this the moment the process began.
    pub fn begin() {
        LazyLock::force(&STARTED);
    }

    pub fn now() -> Self {
        Self {
            started: *STARTED,
            cpu_seconds: read("stat").and_then(|text| cpu_seconds(&text)),
            resident_bytes: read("status").and_then(|text| resident_bytes(&text)),
            open_files: fs::read_dir("/proc/self/fd")
                .ok()
                .map(|files| files.count() as f64),
            most_files: read("limits").and_then(|text| most_files(&text)),
        }
    }
}

fn read(file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/{file}")).ok()
}

/// The name of the program stands in brackets and may contain anything; figures follow after it.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let user: f64 = fields.nth(11)?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn resident_bytes(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

fn most_files(limits: &str) -> Option<f64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_whatever_the_program_is_called() {
        let stat = "7 (a) b (c) S 1 1 1 0 -1 4194304 10 20 30 40 250 150 1 1 20 0 9 0 12345 1 2 3";
        assert_eq!(cpu_seconds(stat), Some(4.0));
        assert_eq!(
            resident_bytes("Name:\tkitbag\nVmRSS:\t   82012 kB\n"),
            Some(83_980_288.0)
        );
        assert_eq!(
            most_files("Max open files            1024                 4096   files\n"),
            Some(1024.0)
        );
        assert_eq!(
            most_files("Max open files            unlimited   unlimited   files\n"),
            None
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_figures() {
        let now = Process::now();
        assert!(
            now.resident_bytes > Some(1e6) && now.open_files >= Some(3.0),
            "{now:?}"
        );
        assert!(
            now.cpu_seconds.is_some() && now.most_files > Some(3.0),
            "{now:?}"
        );
    }
}
