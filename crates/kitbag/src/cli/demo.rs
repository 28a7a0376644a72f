//! `kitbag demo`: a tour with three servers that are part of this program.
//!
//! The tour runs the verbs that it shows, with a configuration and data directory of its own, which
//! it removes at the end.

use std::fs;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use kitbag_demo::{DemoName, DemoServer};
use kitbag_tool_server::serve;
use serde::Serialize;
use tempfile::TempDir;
use tokio::process::Command;

use super::Invocation;

/// Take a tour with servers that need no download.
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
#[command(
    after_help = "Examples:\n  kitbag demo serve desk\n  kitbag servers add desk -- kitbag demo serve desk"
)]
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

/// One stop of the tour: a command, and the text above it.
struct Stop {
    text: &'static str,
    words: &'static [&'static str],
}

const STOPS: [Stop; 7] = [
    Stop {
        text: "Three servers of an imaginary tea shop are configured. A model that is connected to\n\
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
        words: &["run", OPEN_TICKETS.0],
    },
    Stop {
        text: "Kitbag learns from use. No description says that this may need a refund:",
        words: &[
            "search",
            "make it right with the woman from Lyon",
            "-n",
            "3",
        ],
    },
    Stop {
        text: "An agent searches for it and refunds an order …",
        words: &["run", APOLOGY.0],
    },
    Stop {
        text: "… and the next one with such a task finds the tool:",
        words: &[
            "search",
            "make it right with the man from Prague",
            "-n",
            "3",
        ],
    },
];

/// The programs of the tour: name and content.
const OPEN_TICKETS: (&str, &str) = (
    "open-tickets.js",
    r#"const { tickets } = await tools.desk.list_tickets({ status: "open" });
return Promise.all(tickets.map(async ({ ticket, subject, order }) => {
  const { status, total } = await tools.shop.get_order({ order });
  return `#${ticket} ${subject}: order ${order}, ${total} EUR, ${status}`;
}));
"#,
);
const APOLOGY: (&str, &str) = (
    "apology.js",
    r#"const found = await search("make it right with the woman from Lyon");
const refunded = await tools.shop.refund_order({ order: 1004, reason: "broken" });
return { found: found.length, refunded: refunded.order };
"#,
);

#[derive(Debug, Serialize)]
struct StopReport {
    text: &'static str,
    /// The program that the command runs, if any.
    program: Option<&'static str>,
    command: String,
    output: String,
}

async fn run_tour(invocation: &Invocation) -> anyhow::Result<()> {
    let tour = Tour::new()?;
    let mut reports = Vec::new();
    for stop in STOPS {
        let report = tour.visit(&stop).await?;
        if !invocation.output.json {
            invocation.show(&report, format_stop)?;
        }
        reports.push(report);
    }
    if invocation.output.json {
        return invocation.show(&reports, |_| String::new());
    }
    invocation.note(NEXT);
    Ok(())
}

fn indent(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}\n"));
    lines.collect()
}

const NEXT: &str = "
Next:
  kitbag servers add shop -- kitbag demo serve shop   keep one of these servers
  kitbag import                                       import the servers of your clients
  kitbag servers find TEXT                            search the MCP registry";

fn format_stop(report: &StopReport) -> String {
    let StopReport {
        text,
        program,
        command,
        output,
    } = report;
    let program = program.map(indent).unwrap_or_default();
    format!("\n{text}\n\n{program}  $ {command}\n{}", indent(output))
}

/// The programs are the tour's own: they may write, and run on kernels that lack a layer of the jail.
const SETTINGS: &str = "\
[policy]
code_writes = \"allow\"

[code]
isolation = \"best_effort\"
";

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
            format!(
                "[servers.{name}]\ncommand = \"kitbag\"\nargs = [\"demo\", \"serve\", \"{name}\"]\n"
            )
        });
        let config = format!("{SETTINGS}\n{}", servers.join("\n"));
        for (name, text) in [("kitbag.toml", config.as_str()), OPEN_TICKETS, APOLOGY] {
            fs::write(tour.directory.path().join(name), text)?;
        }
        Ok(tour)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(self.directory.path())
            .env("KITBAG_CONFIG", self.directory.path().join("kitbag.toml"))
            .env("KITBAG_DATA_DIR", self.directory.path().join("data"))
            .env_remove("KITBAG_STORE")
            .env_remove("KITBAG_LOG")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
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
        let mut programs = [OPEN_TICKETS, APOLOGY].into_iter();
        Ok(StopReport {
            text: stop.text,
            program: programs.find_map(|(name, text)| stop.words.contains(&name).then_some(text)),
            command: shown,
            output: String::from_utf8_lossy(&ran.stdout).into_owned(),
        })
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
