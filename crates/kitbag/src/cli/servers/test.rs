//! `kitbag servers test`: starts and lists servers, and reports the outcome.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use clap_complete::ArgValueCandidates;
use futures::future::join_all;
use kitbag_domain::ServerName;
use serde::Serialize;

use super::find;
use crate::cli::completions::servers;
use crate::cli::failure::CommandFailure;
use crate::cli::output::{
    Output, describe_offers, format_duration, format_table, pluralize, strip_controls,
};
use crate::cli::{Invocation, to_exit_code};
use kitbag_gateway::admin::app::{App, ServerReport};

/// Start servers, list what they offer, and stop them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Servers to test [default: all enabled ones].
    #[arg(add = ArgValueCandidates::new(servers))]
    names: Vec<ServerName>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag servers test
  kitbag servers test github --json

The exit code is 1 if a server fails.";

#[derive(Debug, Serialize)]
struct TestRow {
    name: ServerName,
    #[serde(flatten)]
    outcome: TestOutcome,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum TestOutcome {
    Works(ServerReport),
    Fails(CommandFailure),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let mut config = invocation.config()?;
    for name in &arguments.names {
        let spec = find(&config, name)?.clone();
        // A server named on the command line is tested even if it is disabled.
        config.servers.insert(name.clone(), spec);
    }
    let names = match arguments.names {
        names if names.is_empty() => config
            .running_servers()
            .map(|spec| spec.name.clone())
            .collect(),
        names => names,
    };
    let app = App::open(&config).await?;
    let rows = test_all(&app, names, invocation.output).await;
    app.close().await;
    invocation.show(&rows, |rows| format_tests(rows))?;
    let mut outcomes = rows.iter().map(|row| &row.outcome);
    Ok(to_exit_code(
        outcomes.all(|outcome| matches!(outcome, TestOutcome::Works(_))),
    ))
}

async fn test_all(app: &App, names: Vec<ServerName>, output: Output) -> Vec<TestRow> {
    let all = names.len();
    let (progress, done) = (
        output.progress(&format_progress(0, all)),
        AtomicUsize::new(0),
    );
    let tests = names.into_iter().map(|name| async {
        let outcome = test_server(app, &name).await;
        progress.update(&format_progress(
            done.fetch_add(1, Ordering::Relaxed) + 1,
            all,
        ));
        TestRow { name, outcome }
    });
    join_all(tests).await
}

fn format_progress(done: usize, all: usize) -> String {
    format!(
        "Starting {}: {done} of {all} done",
        pluralize(all, "server")
    )
}

/// Starts and lists one server; the listing is stored for clients.
pub(super) async fn test_server(app: &App, name: &ServerName) -> TestOutcome {
    match app.server_report(name, true).await {
        Ok(report) => TestOutcome::Works(report),
        Err(error) => TestOutcome::Fails(CommandFailure::from_error(&error.into())),
    }
}

fn format_tests(rows: &[TestRow]) -> String {
    let mut text = format_table(
        ["NAME", "STATE", "PROTOCOL", "OFFERS", "TOOK"],
        rows.iter().map(cells),
    );
    for row in rows {
        match &row.outcome {
            TestOutcome::Fails(failure) => text.push_str(&format!("\n{failure}\n")),
            TestOutcome::Works(report) => {
                for problem in &report.problems {
                    text.push_str(&format!("\n{}: {}\n", row.name, strip_controls(problem)));
                }
            }
        }
    }
    text
}

fn cells(row: &TestRow) -> [String; 5] {
    let name = row.name.to_string();
    match &row.outcome {
        TestOutcome::Fails(_) => [
            name,
            "fails".to_owned(),
            String::new(),
            String::new(),
            String::new(),
        ],
        TestOutcome::Works(report) => [
            name,
            "works".to_owned(),
            format!("{} ({})", report.version, report.era),
            describe_offers(report.tools, report.prompts, report.resources),
            format_duration(report.took),
        ],
    }
}
