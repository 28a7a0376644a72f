//! The destination of log lines, and their looks; secrets are masked in every destination.

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
    /// The level from which a line is logged if the person named none.
    pub default: LevelFilter,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Log lines always go to stderr: stdout carries results, and with `serve --stdio` the protocol. A
/// gateway that serves keeps them in a file as well.
pub fn init_logging(logging: Logging) {
    let targets = logging.targets;
    let targets = targets.unwrap_or_else(|| default_targets(logging.default));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(|| MaskingWriter(progress::lock_stderr()));
    let lines = match logging.format {
        LogFormat::Text => lines.with_ansi(use_color()).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().boxed(),
    };
    // One filter for all: with a filter for each layer, a library that asks whether it may log and
    // may not would take the next line of its thread with it.
    tracing_subscriber::registry()
        .with(targets)
        .with(lines)
        .with(JournalLayer)
        .init();
}

/// The database's library warns of every short wait, which says nothing to a person.
fn default_targets(default: LevelFilter) -> Targets {
    Targets::new()
        .with_default(default)
        .with_target("sqlx", LevelFilter::ERROR)
        .with_target("kitbag_upstream::server", server_level(default))
}

/// A verb that is about a server tells the server's state by itself; a gateway that serves has only
/// its log for that.
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

/// A writer that masks secrets. A line comes in one piece.
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

/// Names and errors of servers and clients may hold line breaks, and characters that hide or turn
/// letters. Colours are our own: those that others send are escaped before they come here.
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
    // This comes last: other characters that break lines have become line breaks by now.
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
    fn a_line_of_the_log_stays_one_line_whatever_is_in_it() {
        let forged = "\u{1b}[2mtime\u{1b}[0m client=x\n2026 kitbag error: a\u{202e}!\r2026 b\u{2028}2026 c\r\n";
        let expected =
            "\u{1b}[2mtime\u{1b}[0m client=x\n    2026 kitbag error: a!\n    2026 b\n    2026 c\n";
        assert_eq!(clean_line(forged), expected);
        assert_eq!(clean_line("plain\n"), "plain\n");
    }
}
