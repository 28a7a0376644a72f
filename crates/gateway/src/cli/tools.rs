//! `kitbag tools`: what a client sees at the endpoint.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::ServerName;
use kitbag_upstream::CallError;

use super::Invocation;
use super::completions::servers;
use super::next_steps::{first_steps, is_bare};
use super::output::{Output, table};
use super::servers::find;
use crate::app::{App, ToolRow};
use crate::signature::summary;

/// Show the tools a client sees at the endpoint.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Only tools with this word in their name or description; several must all occur.
    words: Vec<String>,
    /// Only the tools of this server.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(servers))]
    server: Option<ServerName>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools
  kitbag tools create issue
  kitbag tools --server github --json";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    if let Some(server) = arguments.server.as_ref().filter(|name| !config.providers.contains_key(*name)) {
        find(&config, server)?;
    }
    let app = App::open(&config).await?;
    match arguments.server.as_ref().filter(|name| config.servers.contains_key(*name)) {
        Some(server) => know(server, &app, invocation.output).await,
        None => know_all(&app, invocation.output).await,
    }
    let mut rows = app.tools();
    app.close().await;
    rows.retain(|row| arguments.accept(row));
    if is_bare(&config) {
        invocation.output.note(&first_steps(invocation));
    } else if rows.is_empty() {
        invocation.output.note(NO_TOOLS);
    }
    if rows.is_empty() && !invocation.output.json {
        return Ok(ExitCode::SUCCESS);
    }
    invocation.output.show(&rows, |rows| table(["NAME", "DESCRIPTION"], rows.iter().map(cells)))?;
    Ok(ExitCode::SUCCESS)
}

const NO_TOOLS: &str = "No tools. See which servers answer: kitbag servers test";

/// Nobody else needs to be started for the tools of one.
async fn know(server: &ServerName, app: &App, output: Output) {
    let asked = output.during("Asking the server what it offers", app.listing(server, false)).await;
    mention(asked.err().as_slice(), output);
}

/// Asks the servers that nobody has asked yet, and tells of those that give no answer.
pub(super) async fn know_all(app: &App, output: Output) {
    let silent = output.during("Asking servers what they offer", app.know_all()).await;
    mention(&silent, output);
}

/// Tells of servers whose tools are missing because they could not be asked.
pub(super) fn mention(silent: &[CallError], output: Output) {
    for error in silent {
        output.warn(&error.to_string());
    }
    if !silent.is_empty() {
        output.note("More about it: kitbag servers test");
    }
}

impl Arguments {
    fn accept(&self, row: &ToolRow) -> bool {
        let text = format!("{} {}", row.name, row.description.as_deref().unwrap_or_default()).to_lowercase();
        self.server.as_ref().is_none_or(|server| *server == row.server)
            && self.words.iter().all(|word| text.contains(&word.to_lowercase()))
    }
}

fn cells(row: &ToolRow) -> [String; 2] {
    [row.name.clone(), summary(row.description.as_deref().unwrap_or_default())]
}
