//! Keeps the gateway's log lines in a file in the data directory: clients that launch the gateway
//! discard its stderr.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kitbag_upstream::{LogFile, LogLevel, LogLine, LogStream};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Writes log lines to the file, once it is open.
#[derive(Debug)]
pub(super) struct JournalLayer;

/// Process-wide, like the subscriber that writes to it.
static FILE: OnceLock<LogFile> = OnceLock::new();

pub(super) fn journal_path(data_dir: &Path) -> PathBuf {
    // Not among the server logs: a server may be named `kitbag`.
    data_dir.join("kitbag.log")
}

pub(super) fn open_in(data_dir: &Path) {
    FILE.get_or_init(|| LogFile::new(journal_path(data_dir)));
}

/// Logs why the gateway ended, which otherwise only stderr shows.
pub(super) fn record_exit(error: &anyhow::Error) {
    if let Some(file) = FILE.get() {
        file.append(&LogLine::new(
            LogStream::Gateway,
            Some(LogLevel::Error),
            &format!("{error:#}"),
        ));
    }
}

impl<S: Subscriber> Layer<S> for JournalLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let Some(file) = FILE.get() else { return };
        let mut text = EventText::default();
        event.record(&mut text);
        let target = event.metadata().target();
        let is_own = target.starts_with("kitbag");
        let line = LogLine::new(
            LogStream::Gateway,
            Some(to_log_level(event.metadata().level())),
            &text.0,
        );
        file.append(&line.with_logger((!is_own).then(|| target.to_owned())));
    }
}

fn to_log_level(level: &Level) -> LogLevel {
    match *level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warning,
        Level::INFO => LogLevel::Info,
        Level::DEBUG | Level::TRACE => LogLevel::Debug,
    }
}

/// The message followed by the fields as `name=value`.
#[derive(Default)]
struct EventText(String);

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.insert_str(0, &format!("{value:?}"));
        } else {
            write!(self.0, " {}={value:?}", field.name())
                .expect("writing into a string cannot fail");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
