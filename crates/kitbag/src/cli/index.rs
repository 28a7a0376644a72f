//! `kitbag index`: builds, verifies and shows the capability index.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use super::completions::tools;
use super::gateway::{FETCHING_TOOLS, fetch_all_listings, warn_of_missing_tools};
use super::output::{format_table, pluralize, strip_controls};
use super::{Invocation, to_exit_code};
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::search::IndexVerdict;

/// Build, verify and inspect the capability index.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag index build
  kitbag index verify
  kitbag index show github__create_issue

A running gateway keeps its index up to date by itself.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// List every server again and compute missing vectors.
    #[command(after_help = "Examples:\n  kitbag index build\n  kitbag index build --json")]
    Build,
    /// Check that every tool is indexed, embedded and found by its description.
    #[command(
        after_help = "Examples:\n  kitbag index verify\n\nThe exit code is 1 if a check fails."
    )]
    Verify,
    /// Show the index entry of a tool.
    #[command(after_help = "Examples:\n  kitbag index show github__create_issue")]
    Show {
        /// Tool name, as in `kitbag tools`.
        #[arg(add = ArgValueCandidates::new(tools))]
        name: String,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let app = App::open(&invocation.config()?).await?;
    let done = match arguments.verb {
        Verb::Build => build_index(&app, invocation).await,
        Verb::Verify => verify_index(&app, invocation).await,
        Verb::Show { name } => show_entry(&app, &name, invocation).await,
    };
    app.close().await;
    done
}

async fn build_index(app: &App, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let output = invocation.output;
    let progress = output.progress(FETCHING_TOOLS);
    let mut last = None;
    let built = app
        .build_index(|done, total| progress.update(last.insert(format_progress(done, total))))
        .await;
    drop(progress);
    warn_of_missing_tools(&built?, output);
    if let Some(last) = last {
        output.note(&last);
    }
    let size = app.index_size();
    output.show(&serde_json::json!({ "tools": size }), |_| {
        format!("{} indexed", pluralize(size, "tool"))
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn verify_index(app: &App, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    fetch_all_listings(app, invocation.output).await;
    let progress = invocation.output.progress("Indexing tools");
    let verdict = app
        .verify_index(|done, total| progress.update(&format_progress(done, total)))
        .await;
    drop(progress);
    let verdict = verdict?;
    invocation.show(&verdict, format_verdict)?;
    Ok(to_exit_code(verdict.flaws.is_empty()))
}

pub(super) fn format_progress(done: usize, total: usize) -> String {
    format!("Indexing tools: {done} of {total} texts embedded")
}

fn format_verdict(verdict: &IndexVerdict) -> String {
    let mut text = format!(
        "{}, {} embedded, {} found by their own description\n",
        pluralize(verdict.tools, "tool"),
        verdict.embedded,
        verdict.found_by_description,
    );
    if !verdict.flaws.is_empty() {
        text.push('\n');
        text.push_str(&format_table(
            ["NAME", "PROBLEM"],
            verdict
                .flaws
                .iter()
                .map(|flaw| [flaw.tool_name.clone(), flaw.problem.clone()]),
        ));
    }
    text
}

async fn show_entry(app: &App, name: &str, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let entry = app.index_entry(name).await?;
    invocation.show(&entry, |entry| strip_controls(&format!("{entry:#}")))?;
    Ok(ExitCode::SUCCESS)
}
