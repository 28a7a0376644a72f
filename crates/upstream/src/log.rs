//! What a server writes to stderr: the last lines in memory, all of it in a file.
//!
//! The memory serves error messages, the file serves `kitbag servers logs`. Values that came
//! from the environment or a header are masked in both, since servers like to print them.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::sync::lock;

const TAIL_LINES: usize = 40;
const MAX_LINE: usize = 2_000;
/// Past this size the file becomes `NAME.log.1` and a new one is begun.
const MAX_FILE: u64 = 1_000_000;
/// Shorter values are words like `true`; masking those would garble the log.
const MIN_SECRET: usize = 8;

pub(crate) struct ServerLog {
    path: Option<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    tail: VecDeque<String>,
    secrets: Vec<String>,
    file: Option<File>,
    written: u64,
}

impl ServerLog {
    /// Logs to `path`, or only to memory.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, inner: Mutex::default() }
    }

    pub(crate) fn hide(&self, secrets: impl IntoIterator<Item = String>) {
        let mut inner = self.lock();
        inner.secrets.extend(secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET));
    }

    pub(crate) fn line(&self, line: &str) {
        let mut inner = self.lock();
        let mut line: String = line.chars().take(MAX_LINE).collect();
        for secret in &inner.secrets {
            if line.contains(secret.as_str()) {
                line = line.replace(secret.as_str(), "•••");
            }
        }
        if let Some(path) = &self.path {
            inner.append(path, &line);
        }
        if inner.tail.len() == TAIL_LINES {
            inner.tail.pop_front();
        }
        inner.tail.push_back(line);
    }

    pub(crate) fn forget_tail(&self) {
        self.lock().tail.clear();
    }

    /// The last lines, as one text.
    pub(crate) fn tail(&self) -> String {
        let inner = self.lock();
        inner.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Inner {
    /// A log that cannot be written must not stop a server, so failures are let go.
    fn append(&mut self, path: &Path, line: &str) {
        if self.written > MAX_FILE {
            self.file = None;
            let _ = std::fs::rename(path, path.with_extension("log.1"));
        }
        if self.file.is_none() {
            self.file = open(path);
            self.written = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |it| it.len());
        }
        if let Some(file) = &mut self.file
            && writeln!(file, "{line}").is_ok()
        {
            self.written += line.len() as u64 + 1;
        }
    }
}

fn open(path: &Path) -> Option<File> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).ok()
}

impl std::fmt::Debug for ServerLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerLog").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_wherever_the_server_prints_it() {
        let log = ServerLog::new(None);
        log.hide(["sk-123456789".to_owned(), "true".to_owned()]);
        log.line("using key=sk-123456789, debug=true");
        assert_eq!(log.tail(), "using key=•••, debug=true");
    }
}
