//! Memory, CPU time and open files of this process, on Linux.

use std::fs;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The figures of the process, in the units of the metrics.
#[derive(Debug, Clone, Copy)]
pub struct ProcessFigures {
    /// Seconds since the Unix epoch.
    pub started: f64,
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub open_files: Option<f64>,
    pub max_open_files: Option<f64>,
}

/// When the process started; set by the first read.
static STARTED: LazyLock<f64> = LazyLock::new(|| {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
});

/// Linux reports times to user space in this unit, whatever the rate of its own clock.
const TICKS_PER_SECOND: f64 = 100.0;

impl ProcessFigures {
    /// Records the current time as the start of the process.
    pub fn record_start() {
        LazyLock::force(&STARTED);
    }

    pub fn read_current() -> Self {
        Self {
            started: *STARTED,
            cpu_seconds: read_proc_file("stat").and_then(|text| cpu_seconds(&text)),
            resident_bytes: read_proc_file("status").and_then(|text| resident_bytes(&text)),
            open_files: fs::read_dir("/proc/self/fd")
                .ok()
                .map(|files| files.count() as f64),
            max_open_files: read_proc_file("limits").and_then(|text| max_open_files(&text)),
        }
    }
}

fn read_proc_file(file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/{file}")).ok()
}

/// The program name is in parentheses and may contain any character, so the figures are counted
/// from the last parenthesis.
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

fn max_open_files(limits: &str) -> Option<f64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_for_any_program_name() {
        let stat = "7 (a) b (c) S 1 1 1 0 -1 4194304 10 20 30 40 250 150 1 1 20 0 9 0 12345 1 2 3";
        assert_eq!(cpu_seconds(stat), Some(4.0));
        assert_eq!(
            resident_bytes("Name:\tkitbag\nVmRSS:\t   82012 kB\n"),
            Some(83_980_288.0)
        );
        assert_eq!(
            max_open_files("Max open files            1024                 4096   files\n"),
            Some(1024.0)
        );
        assert_eq!(
            max_open_files("Max open files            unlimited   unlimited   files\n"),
            None
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_figures() {
        let now = ProcessFigures::read_current();
        assert!(
            now.resident_bytes > Some(1e6) && now.open_files >= Some(3.0),
            "{now:?}"
        );
        assert!(
            now.cpu_seconds.is_some() && now.max_open_files > Some(3.0),
            "{now:?}"
        );
    }
}
