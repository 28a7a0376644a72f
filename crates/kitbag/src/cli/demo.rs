//! `kitbag demo`: a tour with three servers that are part of this program.
//!
//! The tour runs the verbs that it shows, against a gateway with a configuration and data directory
//! of its own. It leaves no file behind.

use std::fs;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use kitbag_demo::{DemoName, DemoServer};
use kitbag_tool_server::serve;
#[cfg(unix)]
use rustix::process::{Pid, Signal};
use serde::Serialize;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::Invocation;

/// See Kitbag at work, with servers that need no download.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag demo
  kitbag servers add shop -- kitbag demo serve shop

The tour takes some seconds, needs no network and leaves nothing behind.";

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(ServeArguments),
}

/// Serve one of the demo's servers on stdin and stdout.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers add desk -- kitbag demo serve desk")]
struct ServeArguments {
    /// shop, desk or calendar.
    #[arg(value_name = "NAME")]
    name: DemoName,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Some(Verb::Serve(ServeArguments { name })) => {
            let server = Arc::new(DemoServer::new(name));
            serve(server, tokio::io::stdin(), tokio::io::stdout()).await?;
        }
        None => run_tour(invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One stop of the tour: a command and what it shows.
struct Stop {
    text: &'static str,
    words: &'static [&'static str],
}

const STOPS: [Stop; 6] = [
    Stop {
        text: "Three servers of an imaginary tea shop are connected. A model that is connected to\n\
               Kitbag does not get all their tools, but four that find and call the others.",
        words: &["stats", "tokens"],
    },
    Stop {
        text: "It describes a task and gets the tools for it, found by meaning:",
        words: &["search", "give the customer her money back", "-n", "3"],
    },
    Stop {
        text: "It calls one. Rules, limits and the audit apply to the tool's real name:",
        words: &["call", "shop__refund_order", "order=1004", "reason=broken"],
    },
    Stop {
        text: "A program calls several tools in one turn, in a sandbox, and only its result goes\n\
               back to the model:",
        words: &["run", PROGRAM_FILE],
    },
    Stop {
        text: "Kitbag learns from use. Nothing says that this task needs a refund …",
        words: &["search", "calm down the angry lady from Lyon", "-n", "3"],
    },
    Stop {
        text: "",
        words: &["learned", "list"],
    },
];

const PROGRAM_FILE: &str = "open-tickets.js";
const PROGRAM: &str = r#"const { tickets } = await tools.desk.list_tickets({ status: "open" });
return Promise.all(tickets.map(async ({ ticket, subject, order }) => {
  const { status, total } = await tools.shop.get_order({ order });
  return `#${ticket} ${subject}: order ${order}, ${total} EUR, ${status}`;
}));
"#;

#[derive(Debug, Serialize)]
struct StopReport {
    text: &'static str,
    command: String,
    output: String,
}

async fn run_tour(invocation: &Invocation) -> anyhow::Result<()> {
    let tour = Tour::new()?;
    let gateway = tour.start_gateway().await?;
    let mut reports = Vec::new();
    for stop in STOPS {
        let report = tour.visit(&stop).await?;
        if !invocation.output.json {
            invocation.show(&report, format_stop)?;
        }
        reports.push(report);
    }
    gateway.stop().await?;
    if invocation.output.json {
        return invocation.show(&reports, |_| String::new());
    }
    invocation.note(NEXT);
    Ok(())
}

const NEXT: &str = "\
Next:
  kitbag servers add shop -- kitbag demo serve shop   keep one of these servers
  kitbag import                                       bring the servers of your clients
  kitbag servers find TEXT                            search the MCP registry";

fn format_stop(report: &StopReport) -> String {
    format!("{}\n\n$ {}\n{}\n", report.text, report.command, report.output.trim_end())
}

/// The directory of the tour, with its configuration and data.
struct Tour {
    directory: TempDir,
    program: PathBuf,
}

impl Tour {
    fn new() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("kitbag-demo-").tempdir();
        let tour = Self {
            directory: directory.context("cannot create a directory for the demo")?,
            program: std::env::current_exe().context("cannot find the path of this program")?,
        };
        let servers = DemoName::ALL.map(|name| {
            let name = name.name();
            format!("[servers.{name}]\ncommand = \"kitbag\"\nargs = [\"demo\", \"serve\", \"{name}\"]\n")
        });
        fs::write(tour.config_file(), servers.join("\n"))?;
        fs::write(tour.directory.path().join(PROGRAM_FILE), PROGRAM)?;
        Ok(tour)
    }

    fn config_file(&self) -> PathBuf {
        self.directory.path().join("kitbag.toml")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.directory.path())
            .env("KITBAG_CONFIG", self.config_file())
            .env("KITBAG_DATA_DIR", self.directory.path().join("data"))
            .env_remove("KITBAG_STORE")
            .env_remove("KITBAG_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Starts the gateway that all verbs of the tour join, and waits until it serves.
    async fn start_gateway(&self) -> anyhow::Result<RunningGateway> {
        let mut command = self.command();
        command.args(["serve", "--bind", "127.0.0.1:0", "--log", "error"]);
        let mut process = command.spawn().context("cannot start a gateway")?;
        let stdout = process.stdout.take().context("the gateway has no stdout")?;
        let mut stdout = BufReader::new(stdout).lines();
        let banner = stdout.next_line().await?;
        ensure!(banner.is_some(), "the gateway did not start");
        Ok(RunningGateway {
            process,
            _stdout: stdout,
        })
    }

    /// Runs the command of a stop.
    async fn visit(&self, stop: &Stop) -> anyhow::Result<StopReport> {
        let mut command = self.command();
        command.args(stop.words).args(["--color", "never"]);
        let shown = quote_command(stop.words);
        let ran = command.output().await;
        let ran = ran.with_context(|| format!("cannot run `{shown}`"))?;
        let errors = String::from_utf8_lossy(&ran.stderr);
        ensure!(ran.status.success(), "`{shown}` failed: {}", errors.trim());
        Ok(StopReport {
            text: stop.text,
            command: shown,
            output: String::from_utf8_lossy(&ran.stdout).into_owned(),
        })
    }
}

struct RunningGateway {
    process: Child,
    /// Open, so that the gateway can print.
    _stdout: Lines<BufReader<ChildStdout>>,
}

impl RunningGateway {
    /// Asks the gateway to end, and waits until it has stopped its servers.
    async fn stop(mut self) -> anyhow::Result<()> {
        #[cfg(unix)]
        if let Some(pid) = self.process.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)) {
            rustix::process::kill_process(pid, Signal::TERM)?;
            self.process.wait().await?;
        }
        self.process.kill().await.context("cannot stop the gateway")
    }
}

/// Returns the command as a person types it in a shell.
fn quote_command(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| match word.contains(' ') {
        true => format!("'{word}'"),
        false => (*word).to_owned(),
    });
    format!("kitbag {}", quoted.collect::<Vec<_>>().join(" "))
}
