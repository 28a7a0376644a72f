//! A log file: lines of JSON, and one older file after rotation.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Timestamp;
use kitbag_domain::text::{strip_invisible, strip_to_one_line};
use serde::{Deserialize, Serialize};

use crate::exchange::LogLevel;
use crate::mask::mask_secrets;
use kitbag_domain::sync::lock;

/// A longer message is truncated: the log is for people, and a server may print anything.
const MAX_MESSAGE: usize = 2_000;
/// Past this size the file is rotated.
const MAX_FILE: u64 = 1_000_000;

/// Created with secrets masked and invisible characters removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    pub time: Timestamp,
    pub stream: LogStream,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// The part of the server that wrote it, by its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    pub message: String,
}

/// The origin of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    Stderr,
    /// The lines that a server printed between its messages.
    Stdout,
    /// `notifications/message`
    Mcp,
    Gateway,
}

/// Several processes may write to the same file.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl LogLine {
    pub fn new(stream: LogStream, level: Option<LogLevel>, message: &str) -> Self {
        let now = Timestamp::now();
        Self {
            time: Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now),
            stream,
            level,
            logger: None,
            message: strip_invisible(&mask_secrets(message))
                .chars()
                .take(MAX_MESSAGE)
                .collect(),
        }
    }

    pub fn with_logger(self, logger: Option<String>) -> Self {
        Self {
            logger: logger.map(|logger| strip_to_one_line(&mask_secrets(&logger))),
            ..self
        }
    }
}

impl LogFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: Mutex::default(),
        }
    }

    /// Returns the path of the file with the older lines.
    pub fn rotated_path(path: &Path) -> PathBuf {
        path.with_extension("log.1")
    }

    /// Appends a line. Errors are ignored, because a log that cannot be written must not stop
    /// anything.
    pub fn append(&self, line: &LogLine) {
        let mut text = serde_json::to_string(line).expect("a line of a log has no keys but text");
        text.push('\n');
        let mut file = lock(&self.file);
        if file.as_ref().is_some_and(|file| is_full(file.metadata())) {
            *file = None;
            self.rotate();
        }
        if file.is_none() {
            *file = open_file(&self.path);
        }
        if let Some(file) = &mut *file {
            // In one write, or the lines of two processes could be interleaved.
            let _ = file.write_all(text.as_bytes());
        }
    }
}

impl LogFile {
    /// Rotates a full file, unless another process has already done so.
    fn rotate(&self) {
        if is_full(fs::metadata(&self.path)) {
            let _ = fs::rename(&self.path, Self::rotated_path(&self.path));
        }
    }
}

fn is_full(file: io::Result<Metadata>) -> bool {
    file.is_ok_and(|file| file.len() > MAX_FILE)
}

fn open_file(path: &Path) -> Option<File> {
    fs::create_dir_all(path.parent()?).ok()?;
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_moved_aside_and_lines_stay_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/git.log");
        let (one, other) = (LogFile::new(&path), LogFile::new(&path));
        let long = "x".repeat(5 * MAX_MESSAGE);
        for number in 0..700 {
            let line = LogLine::new(LogStream::Stderr, None, &format!("{number} {long}"));
            if number % 2 == 0 {
                one.append(&line);
            } else {
                other.append(&line);
            }
        }
        let read = |path: &Path| {
            let text = fs::read_to_string(path).unwrap();
            text.lines()
                .map(|line| serde_json::from_str::<LogLine>(line).unwrap())
                .collect::<Vec<_>>()
        };
        let (older, newer) = (read(&LogFile::rotated_path(&path)), read(&path));
        assert!(
            !newer.is_empty() && older.len() + newer.len() == 700,
            "{} {}",
            older.len(),
            newer.len()
        );
        let size = fs::metadata(LogFile::rotated_path(&path)).unwrap().len();
        assert!(size < MAX_FILE + 5_000, "{size}");
        assert!(
            newer
                .iter()
                .all(|line| line.message.chars().count() == MAX_MESSAGE)
        );
    }
}
