//! `kitbag index`: builds the capability index, proves it, and shows what is in it.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Invocation;
use super::output::{Output, count, table};
use super::tools::mention;
use crate::app::App;
use crate::search::Verdict;

/// Build, check and look into the capability index.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List every server anew and compute what is missing.
    Build,
    /// Check that every tool is indexed, has a vector and is found by its own description.
    Verify,
    /// Show what the index keeps of one tool.
    Show {
        /// The tool, as `kitbag tools` shows it.
        name: String,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let app = App::open(&invocation.config()?).await?;
    let done = match arguments.verb {
        Verb::Build => build(&app, invocation).await,
        Verb::Verify => verify(&app, invocation).await,
        Verb::Show { name } => show(&app, &name, invocation).await,
    };
    app.close().await;
    done
}

async fn build(app: &App, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let output = invocation.output;
    let silent = app.build_index(|done, total| embedded(output, done, total)).await?;
    mention(&silent, output);
    let size = app.index_size();
    output.show(&serde_json::json!({ "tools": size }), |_| format!("{} indexed", count(size, "tool")))?;
    Ok(ExitCode::SUCCESS)
}

async fn verify(app: &App, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    mention(&app.know_all().await, invocation.output);
    let output = invocation.output;
    let verdict = app.verify_index(|done, total| embedded(output, done, total)).await?;
    invocation.output.show(&verdict, told)?;
    Ok(if verdict.flaws.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn embedded(output: Output, done: usize, total: usize) {
    output.note(&format!("{done} of {total} texts embedded"));
}

fn told(verdict: &Verdict) -> String {
    let mut text = format!(
        "{}, {} with a vector, {} found by their own description\n",
        count(verdict.tools, "tool"),
        verdict.embedded,
        verdict.found_by_description,
    );
    if !verdict.flaws.is_empty() {
        text.push('\n');
        text.push_str(&table(
            ["NAME", "PROBLEM"],
            verdict.flaws.iter().map(|flaw| [flaw.tool_name.clone(), flaw.problem.clone()]),
        ));
    }
    text
}

async fn show(app: &App, name: &str, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let entry = app.index_entry(name).await?;
    invocation.output.show(&entry, |entry| format!("{entry:#}"))?;
    Ok(ExitCode::SUCCESS)
}
