//! `kitbag tools check`: checks tool files before they are deployed.
//!
//! - `sources`: the files to check, with their manifest, pages and dated data
//! - `intent_search`: searches for every tool by its own intents; `built_in_schemas`: checks Kitbag's own tools
//! - `report`: the findings, for people and programs

mod built_in_schemas;
mod intent_search;
mod report;
mod sources;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Zoned;
use jiff::civil::Date;
use kitbag_gateway::catalog::tool_files::looks_secret;
use kitbag_tool_files::{CheckFinding, CheckId, CheckInput, check};

use crate::cli::{Invocation, to_exit_code};
use sources::CheckSource;

pub(super) use report::CheckReport;
pub(super) use sources::{CheckSources, ExtraFiles};

/// Check tool files before they are deployed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Tool files, directories, or a whole catalog [default: the effective configuration].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Manifest to compare the tools with [default: TOOLS.md in the directory].
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Folder with a page for each tool.
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    #[command(flatten)]
    wanted: WantedChecks,
}

/// Which checks to run, and their parameters.
#[derive(Debug, Default, Args)]
pub(super) struct WantedChecks {
    /// Run only these checks, by number or name.
    #[arg(long, value_name = "CHECK,…", value_delimiter = ',')]
    only: Vec<CheckId>,
    /// Search among the tools in this folder's tools.jsonl too; repeatable.
    #[arg(long, value_name = "DIR")]
    among: Vec<PathBuf>,
    /// Day on which dated data must be valid [default: today].
    #[arg(long = "on", value_name = "DATE")]
    day: Option<Date>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools check
  kitbag tools check tools
  kitbag tools check tools/ticket.toml --only 08,intents
  kitbag tools check tools --manifest TOOLS.md --pages docs/tools
  kitbag tools check catalog --among evals/small --json

A whole catalog is a directory with TOOLS.md and the files in tools; its dated
data is in data, and its pages are in ../docs/tools. The exit code is 1 if a
check fails.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let extra = ExtraFiles {
        manifest: arguments.manifest,
        pages: arguments.pages,
    };
    let sources = match arguments.paths.as_slice() {
        [] => CheckSources::from_config(&invocation.config()?, &extra)?,
        paths => CheckSources::from_paths(paths, &extra)?,
    };
    let report = run_checks(&sources, &arguments.wanted, invocation).await?;
    report.show(invocation)?;
    Ok(to_exit_code(report.has_passed()))
}

/// Runs the requested checks.
pub(super) async fn run_checks(
    sources: &CheckSources,
    wanted: &WantedChecks,
    invocation: &Invocation,
) -> anyhow::Result<CheckReport> {
    let day = wanted.day.unwrap_or_else(|| Zoned::now().date());
    let mut findings: Vec<CheckFinding> = sources
        .sources
        .iter()
        .flat_map(|source| check_source(source, day))
        .collect();
    let mut report = CheckReport::from_sources(sources);
    if sources.with_own_tools && wanted.includes(CheckId::StrictSchemas) {
        let (tools, loose) = built_in_schemas::check();
        report.own_tools = tools;
        findings.extend(loose);
    }
    if wanted.includes(CheckId::Intents) {
        let search = intent_search::search(sources, &wanted.among, invocation).await?;
        findings.extend(search.findings);
        report.searched = Some((search.intents, search.among));
    }
    findings.retain(|finding| wanted.includes(finding.check));
    report.add_findings(findings, &wanted.only);
    Ok(report)
}

impl WantedChecks {
    fn includes(&self, check: CheckId) -> bool {
        self.only.is_empty() || self.only.contains(&check)
    }
}

fn check_source(source: &CheckSource, day: Date) -> Vec<CheckFinding> {
    let input = CheckInput {
        tools: &source.tools,
        problems: &source.problems,
        manifest: source.manifest.as_ref(),
        pages: source.pages.as_ref(),
        dated: source.dated.as_ref().map(|data| (data, day)),
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &looks_secret,
        names_secret: &kitbag_fetch::secrets::is_secret_name,
    };
    let providers = check(&CheckInput {
        tools: &source.providers,
        problems: &[],
        manifest: None,
        pages: None,
        dated: None,
        ..input
    });
    // Model providers are not visible to clients, so they are not searched for.
    let providers = providers.into_iter();
    let of_requests = providers.filter(|finding| finding.check != CheckId::Intents);
    check(&input).into_iter().chain(of_requests).collect()
}
