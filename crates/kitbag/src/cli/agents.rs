//! `kitbag agents`: data about coding agents, as a server, as files, and its age.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use jiff::civil::Date;
use kitbag_agents::lint::{self, Age, FAIL_AFTER, SourceAge, WARN_AFTER};
use kitbag_agents::{Library, export};
use serde::Serialize;
use serde_json::json;

use super::output::{format_table, pluralize};
use super::{Invocation, to_exit_code};
use kitbag_embedding::TextEmbedder;
use kitbag_gateway::catalog::built_in_servers;
use kitbag_gateway::secrets::vault;
use kitbag_tool_server::serve;

/// Look up the capabilities of coding agents, with sources.
///
/// The same four tools are built into `kitbag serve` as the server `agents`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    /// Folder with `agents/` to use instead of the built-in data.
    #[arg(long, global = true, value_name = "DIR")]
    directory: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag agents serve --stdio
  kitbag agents export site
  kitbag agents lint
  kitbag call agents__lookup_capability agent=copilot capability=mcp";

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(ServeArguments),
    Export(ExportArguments),
    Lint(LintArguments),
}

/// Serve the four tools to one MCP client.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag agents serve --stdio\n  kitbag agents serve --stdio --directory ."
)]
struct ServeArguments {
    /// Use stdin and stdout, the only transport.
    #[arg(long)]
    stdio: bool,
}

/// Write the data as a static site: an index and a page per agent and capability.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag agents export site\n  kitbag agents export site --directory ."
)]
struct ExportArguments {
    /// Output folder; existing files are overwritten, others are kept.
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

/// List sources due for review; exit with 1 if any is overdue.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag agents lint\n  kitbag agents lint --date 2026-09-30 --json"
)]
struct LintArguments {
    /// Count age from this day instead of today.
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<Date>,
}

#[derive(Debug, Serialize)]
struct AgeReport {
    date: Date,
    sources: Vec<SourceAge>,
    /// Number of capabilities without a specific source, by agent.
    vague: Vec<Vague>,
}

#[derive(Debug, Serialize)]
struct Vague {
    agent: String,
    capabilities: usize,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let configured = config
        .agents
        .as_ref()
        .and_then(|agents| agents.directory.clone());
    let directory = arguments.directory.or(configured);
    match arguments.verb {
        Verb::Serve(ServeArguments { stdio: _ }) => {
            let embedder = Arc::new(TextEmbedder::new(
                &config.embedder,
                &vault::open_lookup_without_store(&config).await?,
            ));
            let answers = built_in_servers::agent_answers(directory.as_deref(), Some(embedder))?;
            serve(Arc::new(answers), tokio::io::stdin(), tokio::io::stdout()).await?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Export(ExportArguments { to }) => {
            write_site(
                &built_in_servers::open_library(directory.as_deref())?,
                &to,
                invocation,
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Lint(LintArguments { date }) => {
            let date = date.unwrap_or_else(|| jiff::Zoned::now().date());
            report_ages(
                &built_in_servers::open_library(directory.as_deref())?,
                date,
                invocation,
            )
        }
    }
}

fn write_site(library: &Library, to: &Path, invocation: &Invocation) -> anyhow::Result<()> {
    let pages = export::pages(library);
    for (path, page) in &pages {
        let path = to.join(path);
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder
            .and_then(|()| fs::write(&path, format!("{page:#}\n")))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let index = to.join("api/v1/index.json");
    invocation.show(&json!({ "files": pages.len(), "index": index }), |_| {
        format!(
            "Wrote {}; start at {}",
            pluralize(pages.len(), "file"),
            index.display()
        )
    })
}

fn report_ages(library: &Library, date: Date, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let vague = lint::vague_capabilities(library).into_iter();
    let report = AgeReport {
        date,
        sources: lint::ages(library, date),
        vague: vague
            .map(|(agent, capabilities)| Vague {
                agent: agent.to_owned(),
                capabilities,
            })
            .collect(),
    };
    invocation.show(&report, format_ages)?;
    let mut sources = report.sources.iter();
    Ok(to_exit_code(
        sources.all(|source| source.age != Age::TooOld),
    ))
}

fn format_ages(report: &AgeReport) -> String {
    let mut text = format_table(
        ["AGENT", "VERIFIED", "DAYS", "SOURCES", "STATE"],
        report.sources.iter().map(cells),
    );
    let vague: usize = report.vague.iter().map(|it| it.capabilities).sum();
    if vague > 0 {
        let capabilities = if vague == 1 {
            "1 capability has"
        } else {
            &format!("{vague} capabilities have")
        };
        text.push_str(&format!(
            "\n{capabilities} no source more specific than a general page.\n"
        ));
    }
    text
}

fn cells(it: &SourceAge) -> [String; 5] {
    let state = match it.age {
        Age::Fresh => String::new(),
        Age::Old => format!("over {WARN_AFTER} days: review due"),
        Age::TooOld => format!("over {FAIL_AFTER} days: overdue"),
    };
    [
        it.agent.clone(),
        it.verified.to_string(),
        it.days.to_string(),
        it.sources.to_string(),
        state,
    ]
}
