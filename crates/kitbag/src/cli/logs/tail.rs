//! Reads a log to its end, then the lines added later, even across rotation.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use kitbag_upstream::{LogFile, LogLine};

#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of an incomplete line.
    partial: Vec<u8>,
}

impl Tail {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            partial: Vec::new(),
        }
    }

    /// Returns all lines of the log.
    pub(super) fn read_all(&mut self) -> io::Result<Vec<LogLine>> {
        let older =
            fs::read(LogFile::rotated_path(&self.path)).or_else(default_if_missing(Vec::new))?;
        let mut lines = parse_lines(&older);
        lines.extend(self.read_new()?);
        Ok(lines)
    }

    /// Returns the lines added since the last read.
    pub(super) fn read_new(&mut self) -> io::Result<Vec<LogLine>> {
        let mut lines = Vec::new();
        loop {
            if self.file.is_none() {
                self.file = File::open(&self.path)
                    .map(Some)
                    .or_else(default_if_missing(|| None))?;
            }
            let Some(file) = &mut self.file else {
                return Ok(lines);
            };
            let replaced = is_replaced(file, &self.path)?;
            // Reads the old file after detecting the new one, when its writer has finished with it.
            lines.extend(read_rest(file, &mut self.partial)?);
            if !replaced {
                return Ok(lines);
            }
            (self.file, self.partial) = (None, Vec::new());
        }
    }
}

fn read_rest(file: &mut File, partial: &mut Vec<u8>) -> io::Result<Vec<LogLine>> {
    if file.metadata()?.len() < file.stream_position()? {
        // The file was truncated.
        file.rewind()?;
        partial.clear();
    }
    file.read_to_end(partial)?;
    let whole = partial
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let rest = partial.split_off(whole);
    Ok(parse_lines(&std::mem::replace(partial, rest)))
}

/// True if the path now refers to another file.
fn is_replaced(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    let there = fs::metadata(path)
        .map(Some)
        .or_else(default_if_missing(|| None))?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) != (opened.dev(), opened.ino())))
}

/// Skips lines that cannot be parsed, which a crash cut short.
fn parse_lines(text: &[u8]) -> Vec<LogLine> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Treats a missing log as empty.
fn default_if_missing<T>(nothing: impl FnOnce() -> T) -> impl FnOnce(io::Error) -> io::Result<T> {
    |error| {
        if error.kind() == io::ErrorKind::NotFound {
            Ok(nothing())
        } else {
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use kitbag_upstream::LogStream;

    use super::*;

    fn line(message: &str) -> String {
        let line = LogLine::new(LogStream::Stderr, None, message);
        serde_json::to_string(&line).unwrap() + "\n"
    }

    #[test]
    fn no_line_is_lost_or_repeated_by_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("git.log");
        let append = |path: &Path, text: &str| {
            let mut file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let mut tail = Tail::new(path.clone());
        let messages = |lines: Vec<LogLine>| {
            lines
                .into_iter()
                .map(|it| it.message)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(messages(tail.read_all().unwrap()), "");

        append(&LogFile::rotated_path(&path), &line("a"));
        append(&path, &(line("b") + "torn\n" + &line("c")));
        assert_eq!(messages(tail.read_all().unwrap()), "a b c");
        let next = line("d");
        append(&path, &next[..9]);
        assert_eq!(messages(tail.read_new().unwrap()), "");
        append(&path, &next[9..]);
        append(&path, &line("e"));
        fs::rename(&path, LogFile::rotated_path(&path)).unwrap();
        assert_eq!(messages(tail.read_new().unwrap()), "d e");
        append(&LogFile::rotated_path(&path), &line("f"));
        append(&path, &line("g"));
        assert_eq!(messages(tail.read_new().unwrap()), "f g");
        fs::write(&path, "").unwrap();
        assert_eq!(messages(tail.read_new().unwrap()), "");
        append(&path, &line("h"));
        assert_eq!(messages(tail.read_new().unwrap()), "h");
    }
}
