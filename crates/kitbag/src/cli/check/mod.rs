//! `kitbag check`: holds tool files against everything that must be true of them before they are deployed.
//!
//! - `places`: the files, with the manifest, the pages and the data beside them
//! - `found`: every tool is found by its own intents; `own`: the schemas of Kitbag's own tools
//! - `report`: the findings, for people and programs

mod found;
mod own;
mod places;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Zoned;
use jiff::civil::Date;
use kitbag_gateway::catalog::tool_files::looks_secret;
use kitbag_tool_files::{CheckFinding, CheckId, CheckInput, check};

use super::Invocation;
use places::CheckedPlace;

pub(super) use places::{BesidePlaces, CheckedPlaces};
pub(super) use report::CheckReport;

/// Check tool files before they are deployed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Tool files, directories of them, or a whole catalog; everything in force unless given.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The manifest that the tools are held against; TOOLS.md in the directory unless given.
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The folder with a page for each tool.
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
    #[command(flatten)]
    wanted: WantedChecks,
}

/// The checks that are wanted, and what they need to know.
#[derive(Debug, Default, Args)]
pub(super) struct WantedChecks {
    /// Only these checks, by number or name.
    #[arg(long, value_name = "CHECK,…", value_delimiter = ',')]
    only: Vec<CheckId>,
    /// A folder whose tools.jsonl has tools to search among; may be given several times.
    #[arg(long, value_name = "DIR")]
    among: Vec<PathBuf>,
    /// The day on which dated data must hold; today unless given.
    #[arg(long = "on", value_name = "DATE")]
    day: Option<Date>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag check
  kitbag check tools
  kitbag check tools/ticket.toml --only 08,intents
  kitbag check tools --manifest TOOLS.md --pages docs/tools
  kitbag check catalog --among evals/small --json

A whole catalog is a directory with TOOLS.md and the files in tools; its rows of
dated data are in data, and its pages in ../docs/tools. The exit code is 1 if
anything is wrong.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let beside = BesidePlaces {
        manifest: arguments.manifest,
        pages: arguments.pages,
    };
    let places = match arguments.paths.as_slice() {
        [] => CheckedPlaces::in_force(&invocation.config()?, &beside)?,
        paths => CheckedPlaces::named(paths, &beside)?,
    };
    let report = checked(&places, &arguments.wanted, invocation).await?;
    report.show(invocation)?;
    Ok(super::exit_code(report.is_well()))
}

/// Runs the checks that are wanted.
pub(super) async fn checked(
    places: &CheckedPlaces,
    wanted: &WantedChecks,
    invocation: &Invocation,
) -> anyhow::Result<CheckReport> {
    let day = wanted.day.unwrap_or_else(|| Zoned::now().date());
    let mut findings: Vec<CheckFinding> = places
        .places
        .iter()
        .flat_map(|place| of_place(place, day))
        .collect();
    let mut report = CheckReport::of(places);
    if places.with_own_tools && wanted.includes(CheckId::StrictSchemas) {
        let (tools, loose) = own::check();
        report.own_tools = tools;
        findings.extend(loose);
    }
    if wanted.includes(CheckId::Intents) {
        let search = found::search(places, &wanted.among, invocation).await?;
        findings.extend(search.findings);
        report.searched = Some((search.intents, search.among));
    }
    findings.retain(|finding| wanted.includes(finding.check));
    report.take(findings, &wanted.only);
    Ok(report)
}

impl WantedChecks {
    fn includes(&self, check: CheckId) -> bool {
        self.only.is_empty() || self.only.contains(&check)
    }
}

fn of_place(place: &CheckedPlace, day: Date) -> Vec<CheckFinding> {
    let input = CheckInput {
        tools: &place.tools,
        problems: &place.problems,
        manifest: place.manifest.as_ref(),
        pages: place.pages.as_ref(),
        dated: place.dated.as_ref().map(|data| (data, day)),
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &looks_secret,
        speaks_of_secret: &kitbag_fetch::secrets::speaks_of_a_secret,
    };
    let providers = check(&CheckInput {
        tools: &place.providers,
        problems: &[],
        manifest: None,
        pages: None,
        dated: None,
        ..input
    });
    // Clients do not see the providers of models, so nothing searches for them.
    let providers = providers.into_iter();
    let of_requests = providers.filter(|finding| finding.check != CheckId::Intents);
    check(&input).into_iter().chain(of_requests).collect()
}
