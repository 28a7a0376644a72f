//! Destination and format of log lines; secrets are masked everywhere.

use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
pub use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use kitbag_domain::text::strip_invisible;
use kitbag_upstream::mask::mask_secrets;

use super::journal::JournalLayer;
use super::progress;

#[derive(Debug)]
pub struct Logging {
    pub targets: Option<Targets>,
    pub format: LogFormat,
    /// The default log level.
    pub default: LevelFilter,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Logs to stderr: stdout carries results, or the protocol with `serve --stdio`. `serve` also logs
/// to a file.
pub fn init_logging(logging: Logging) {
    let targets = logging.targets;
    let targets = targets.unwrap_or_else(|| default_targets(logging.default));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(|| MaskingWriter(progress::lock_stderr()));
    let lines = match logging.format {
        LogFormat::Text => lines.with_ansi(use_color()).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().boxed(),
    };
    // One filter for all layers: with per-layer filters, a library that checks whether a level is
    // enabled and is denied would lose the next line of its thread.
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .with(JournalLayer)
        .init();
}

/// The database library warns about every short wait.
fn default_targets(default: LevelFilter) -> Targets {
    Targets::new()
        .with_default(default)
        .with_target("sqlx", LevelFilter::ERROR)
        .with_target("kitbag_upstream::server", server_level(default))
}

/// Verbs about a server print its state themselves; `serve` only logs it.
fn server_level(default: LevelFilter) -> LevelFilter {
    if default >= LevelFilter::INFO {
        default
    } else {
        LevelFilter::ERROR
    }
}

fn use_color() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Masks secrets. Each `write` receives a whole line.
struct MaskingWriter<W>(W);

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0
            .write_all(clean_line(&mask_secrets(&String::from_utf8_lossy(line))).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes line breaks, and characters that hide or reorder text, in names and errors from servers
/// and clients. Our own colours are kept; foreign ones are escaped earlier.
fn clean_line(line: &str) -> String {
    let text = line.trim_end_matches(['\r', '\n']);
    let mut clean = String::with_capacity(line.len());
    for piece in text.split_inclusive(ESCAPE) {
        let (shown, escape) = piece
            .strip_suffix(ESCAPE)
            .map_or((piece, ""), |shown| (shown, "\u{1b}"));
        clean.push_str(&strip_invisible(shown));
        clean.push_str(escape);
    }
    // Last: other line-breaking characters have become line breaks by now.
    let clean = clean.lines().collect::<Vec<_>>().join("\n    ");
    if line.ends_with('\n') {
        clean + "\n"
    } else {
        clean
    }
}

const ESCAPE: char = '\u{1b}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_stays_one_line() {
        let forged = "\u{1b}[2mtime\u{1b}[0m client=x\n2026 kitbag error: a\u{202e}!\r2026 b\u{2028}2026 c\r\n";
        let expected =
            "\u{1b}[2mtime\u{1b}[0m client=x\n    2026 kitbag error: a!\n    2026 b\n    2026 c\n";
        assert_eq!(clean_line(forged), expected);
        assert_eq!(clean_line("plain\n"), "plain\n");
    }
}
