//! Where log lines go, and how they look.

use std::io;

use tracing::Level;
use tracing_subscriber::Layer as _;
pub use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

#[derive(Debug)]
pub struct Logging {
    pub targets: Option<Targets>,
    pub format: LogFormat,
    /// What is worth a line when nobody said so.
    pub default: Level,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Always to stderr: stdout carries results, and with `serve --stdio` the protocol.
pub fn start(logging: Logging) {
    // The database's library warns of every short wait, which says nothing to a person.
    let quiet = || Targets::new().with_default(logging.default).with_target("sqlx", Level::ERROR);
    let targets = logging.targets.unwrap_or_else(quiet);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = match logging.format {
        LogFormat::Text => lines.with_ansi(colored()).boxed(),
        LogFormat::Json => lines.with_ansi(false).json().boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
}

fn colored() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}
