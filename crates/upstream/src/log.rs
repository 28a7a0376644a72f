//! A server's output besides its answers: the last lines in memory, all of them in a file.
//!
//! Error messages show the lines in memory, `kitbag logs` shows the file.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;

use kitbag_wire::{Raw, RawObject};

use crate::exchange::LogLevel;
use crate::logfile::{LogFile, LogLine, LogStream};
use kitbag_domain::sync::lock;

/// Enough for a traceback, and short enough for an error message.
const TAIL_LINES: usize = 40;

#[derive(Debug)]
pub(crate) struct ServerLog {
    file: Option<LogFile>,
    tail: Mutex<VecDeque<String>>,
}

impl ServerLog {
    /// Logs to `path`, or only to memory.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            file: path.map(LogFile::new),
            tail: Mutex::default(),
        }
    }

    pub(crate) fn log_stderr(&self, text: &str) {
        self.log_and_remember(&LogLine::new(LogStream::Stderr, None, text), "");
    }

    pub(crate) fn log_stdout(&self, text: &str) {
        self.log_and_remember(&LogLine::new(LogStream::Stdout, None, text), "[stdout] ");
    }

    /// Logs the params of `notifications/message`.
    pub(crate) fn log_notification(&self, params: &Raw) {
        let Ok(params) = RawObject::open(params) else {
            return;
        };
        let Some(data) = params.get("data") else {
            return;
        };
        let text =
            serde_json::from_str::<String>(data.get()).unwrap_or_else(|_| data.get().to_owned());
        let level = params
            .read::<String>("level")
            .and_then(|level| LogLevel::parse(&level));
        self.write(&LogLine::new(LogStream::Mcp, level, &text).with_logger(params.read("logger")));
    }

    pub(crate) fn clear_tail(&self) {
        lock(&self.tail).clear();
    }

    /// Returns the last lines as one text.
    pub(crate) fn tail(&self) -> String {
        let tail = lock(&self.tail);
        tail.iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn log_and_remember(&self, line: &LogLine, mark: &str) {
        self.write(line);
        let mut tail = lock(&self.tail);
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(format!("{mark}{}", line.message));
    }

    fn write(&self, line: &LogLine) {
        if let Some(file) = &self.file {
            file.append(line);
        }
    }
}

/// Returns the end of a server's output as one log line; `None` if it wrote nothing. Line breaks
/// are escaped, or a server could write lines of its own into the log.
pub(crate) fn to_log_line(output: &str) -> Option<String> {
    /// More is in the server's own log.
    const LINES: usize = 5;
    const CHARACTERS: usize = 500;
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let end = lines[lines.len().saturating_sub(LINES)..].join(" ⏎ ");
    let plain: Vec<char> = end.chars().filter(|c| !c.is_control()).collect();
    let text: String = plain[plain.len().saturating_sub(CHARACTERS)..]
        .iter()
        .collect();
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;
    use crate::mask::add_secret;

    #[test]
    fn every_line_is_logged_with_its_origin_and_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("git.log");
        let log = ServerLog::new(Some(path.clone()));
        add_secret("sk-123456789");
        log.log_stderr("using key=sk-123456789, debug=true");
        log.log_stdout("a banner");
        log.log_notification(&raw(
            &json!({ "level": "warning", "logger": "net", "data": "sk-123456789 is old" }),
        ));
        log.log_notification(&raw(
            &json!({ "level": "loud", "data": { "code": 7, "key": "sk-123456789" } }),
        ));

        assert_eq!(log.tail(), "using key=•••, debug=true\n[stdout] a banner");
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            assert!(line["time"].take().is_string(), "{line}");
            line
        };
        let parsed: Vec<_> = text.lines().map(parsed).collect();
        let time = Value::Null;
        assert_eq!(
            parsed,
            [
                json!({ "time": time, "stream": "stderr", "message": "using key=•••, debug=true" }),
                json!({ "time": time, "stream": "stdout", "message": "a banner" }),
                json!({
                    "time": time, "stream": "mcp", "level": "warning", "logger": "net", "message": "••• is old",
                }),
                json!({ "time": time, "stream": "mcp", "message": r#"{"code":7,"key":"•••"}"# }),
            ]
        );
    }

    #[test]
    fn the_end_of_the_output_is_one_line_of_reasonable_length() {
        assert_eq!(to_log_line(" \n"), None);
        assert_eq!(
            to_log_line("a\n\n\u{1b}[31mb\r\nc"),
            Some("a ⏎ [31mb ⏎ c".to_owned())
        );
        assert_eq!(
            to_log_line("1\n2\n3\n4\n5\n6").unwrap(),
            "2 ⏎ 3 ⏎ 4 ⏎ 5 ⏎ 6"
        );
        assert_eq!(to_log_line(&"x".repeat(9999)).unwrap().len(), 500);
    }
}
