//! `kitbag logs`: log lines of servers and the gateway, merged by time.

mod tail;

use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::tz::TimeZone;
use kitbag_config::Config;
use kitbag_domain::ServerName;
use kitbag_upstream::{LogLevel, LogLine, LogStream};
use serde::Serialize;

use super::output::{Output, strip_controls, to_one_line};
use super::{Invocation, completions, journal, servers};
use tail::Tail;

/// Show the logs of servers and the gateway, merged by time.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Show only these servers' logs [default: all servers and the gateway].
    #[arg(add = ArgValueCandidates::new(completions::servers))]
    servers: Vec<ServerName>,
    /// Show the gateway's own log, in addition to the named servers.
    #[arg(long)]
    gateway: bool,
    /// Number of lines to show from the end.
    #[arg(long, short = 'n', default_value_t = 100)]
    lines: usize,
    /// Keep showing new lines until interrupted.
    #[arg(long, short)]
    follow: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag logs
  kitbag logs time -n 20 -f
  kitbag logs --gateway --json

A server's log contains its stderr, stray output on stdout, and its MCP log
messages. Secrets are masked.";

/// A log and its server; the gateway's own log has none.
#[derive(Debug)]
struct LogSource {
    server: Option<ServerName>,
    tail: Tail,
}

#[derive(Debug, Serialize)]
struct SourcedLine {
    server: Option<ServerName>,
    #[serde(flatten)]
    line: LogLine,
}

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let mut sources = open_sources(arguments, &invocation.config()?)?;
    let view = LogView::new(&sources, invocation.output);
    let mut lines = read_sources(&mut sources, Tail::read_all)?;
    lines.drain(..lines.len().saturating_sub(arguments.lines));
    if lines.is_empty() && !arguments.follow {
        invocation.note("No log lines yet.");
    }
    view.print(&lines)?;
    if arguments.follow {
        tokio::select! {
            ended = follow(&mut sources, &view) => ended?,
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the last lines of a server's log, oldest first.
pub(crate) fn read_server_log(
    name: &ServerName,
    config: &Config,
    lines: usize,
) -> anyhow::Result<Vec<LogLine>> {
    let mut tail = Tail::new(config.server_log_path(name));
    let mut all = tail.read_all().context("cannot read a log")?;
    Ok(all.split_off(all.len().saturating_sub(lines)))
}

fn open_sources(arguments: &Arguments, config: &Config) -> anyhow::Result<Vec<LogSource>> {
    for name in &arguments.servers {
        servers::find(config, name)?;
    }
    let all = arguments.servers.is_empty() && !arguments.gateway;
    let names: Vec<_> = if all {
        config
            .servers
            .keys()
            .chain(config.disabled.keys())
            .collect()
    } else {
        arguments.servers.iter().collect()
    };
    let own = LogSource {
        server: None,
        tail: Tail::new(journal::journal_path(&config.data_dir)),
    };
    Ok(names
        .into_iter()
        .map(|name| LogSource::for_server(name, config))
        .chain((all || arguments.gateway).then_some(own))
        .collect())
}

impl LogSource {
    fn for_server(name: &ServerName, config: &Config) -> Self {
        Self {
            server: Some(name.clone()),
            tail: Tail::new(config.server_log_path(name)),
        }
    }
}

/// Polls for new lines.
async fn follow(sources: &mut [LogSource], view: &LogView) -> anyhow::Result<()> {
    const EVERY: Duration = Duration::from_millis(200);
    loop {
        view.print(&read_sources(sources, Tail::read_new)?)?;
        tokio::time::sleep(EVERY).await;
    }
}

fn read_sources(
    sources: &mut [LogSource],
    read: fn(&mut Tail) -> std::io::Result<Vec<LogLine>>,
) -> anyhow::Result<Vec<SourcedLine>> {
    let mut lines = Vec::new();
    for source in sources {
        let added = read(&mut source.tail).context("cannot read a log")?;
        lines.extend(added.into_iter().map(|line| SourcedLine {
            server: source.server.clone(),
            line,
        }));
    }
    lines.sort_by_key(|it| it.line.time);
    Ok(lines)
}

struct LogView {
    output: Output,
    zone: TimeZone,
    /// Width of the name column; `None` for a single log.
    names: Option<usize>,
}

impl LogView {
    fn new(sources: &[LogSource], output: Output) -> Self {
        let widest = sources
            .iter()
            .map(|source| source_name(source.server.as_ref()).len())
            .max();
        Self {
            output,
            zone: TimeZone::system(),
            names: widest.filter(|_| sources.len() > 1),
        }
    }

    fn print(&self, lines: &[SourcedLine]) -> anyhow::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let lines = lines.iter();
        let lines: Vec<_> = if self.output.json {
            lines.map(serde_json::to_string).collect::<Result<_, _>>()?
        } else {
            lines.map(|it| self.format_line(it)).collect()
        };
        self.output.print(&lines.join("\n"))
    }

    fn format_line(&self, SourcedLine { server, line }: &SourcedLine) -> String {
        const DIM: Style = Style::new().dimmed();
        let time = line
            .time
            .to_zoned(self.zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S");
        let name = match self.names {
            Some(width) => format!(" {:width$}", source_name(server.as_ref())),
            None => String::new(),
        };
        let logger = line
            .logger
            .iter()
            .map(|logger| format!("{}: ", to_one_line(&strip_controls(logger))))
            .collect::<String>();
        let mark = format_level(line);
        format!(
            "{DIM}{time}{name}{DIM:#} {mark}{logger}{}",
            indent_message(&strip_controls(&line.message))
        )
    }
}

/// Indents further lines of a message, so that none of them looks like another message.
fn indent_message(message: &str) -> String {
    message
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n    ")
}

fn source_name(server: Option<&ServerName>) -> &str {
    server.map_or("kitbag", ServerName::as_str)
}

/// Returns the level, or a mark for stray output on stdout.
fn format_level(line: &LogLine) -> String {
    const RED: Style = AnsiColor::Red.on_default().bold();
    const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
    let style = match line.level {
        Some(LogLevel::Debug | LogLevel::Info | LogLevel::Notice) => Style::new(),
        Some(LogLevel::Warning) => YELLOW,
        Some(_) => RED,
        None if line.stream == LogStream::Stdout => return "[stdout] ".to_owned(),
        None => return String::new(),
    };
    let level = line.level.map_or("", LogLevel::as_str);
    format!("{style}{level}:{style:#} ")
}
