//! `kitbag tools list`: lists the tools that a client sees.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::CatalogSettings;
use kitbag_domain::ServerName;

use crate::cli::Invocation;
use crate::cli::completions::servers;
use crate::cli::gateway::{CommandGateway, JoinChoice, server_to_list};
use crate::cli::next_steps::{first_steps, has_no_servers};
use crate::cli::output::{format_table, pluralize};
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::offers::ToolRow;

/// List the tools a client sees.
#[derive(Debug, Args)]
#[group(skip)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Only tools with these words in their name or description.
    words: Vec<String>,
    /// Only tools of this server.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(servers))]
    server: Option<ServerName>,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools list
  kitbag tools list create issue
  kitbag tools list --server github --json";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    // With `--server`, no other server needs to be started.
    let server = server_to_list(arguments.server.as_ref(), &config)?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let listed = gateway.list_tools(server, invocation.output).await;
    gateway.close().await;
    let mut rows = listed?;
    let known = rows.len();
    let is_first_run = has_no_servers(&config) && !rows.iter().any(is_from_tool_file);
    rows.retain(|row| arguments.matches(row));
    if is_first_run {
        invocation.note(&first_steps(invocation));
    } else if rows.is_empty() && known > 0 {
        invocation.note(&arguments.describe_no_match(known));
    } else if rows.is_empty() {
        invocation.note(NO_TOOLS);
    }
    if rows.is_empty() && !invocation.output.json {
        return Ok(ExitCode::SUCCESS);
    }
    invocation.show(&rows, |rows| {
        format_table(["NAME", "DESCRIPTION"], rows.iter().map(cells))
    })?;
    Ok(ExitCode::SUCCESS)
}

const NO_TOOLS: &str = "No tools. Check the servers: kitbag servers test";

impl Arguments {
    fn describe_no_match(&self, known: usize) -> String {
        let among = format!("none of the {} known", pluralize(known, "tool"));
        match (&self.server, self.words.join(" ")) {
            (Some(server), words) if words.is_empty() => {
                format!("`{server}` has no tools; check it: kitbag servers test {server}")
            }
            (Some(server), words) => {
                format!("No tool of `{server}` has `{words}` in its name or description.")
            }
            (None, words) => format!(
                "`{words}` occurs in the name or description of {among}. To search by meaning: kitbag search {words}"
            ),
        }
    }

    fn matches(&self, row: &ToolRow) -> bool {
        let text = format!(
            "{} {}",
            row.name,
            row.description.as_deref().unwrap_or_default()
        )
        .to_lowercase();
        self.server
            .as_ref()
            .is_none_or(|server| *server == row.server)
            && self
                .words
                .iter()
                .all(|word| text.contains(&word.to_lowercase()))
    }
}

fn is_from_tool_file(row: &ToolRow) -> bool {
    row.server.as_str() == CatalogSettings::SERVER
}

fn cells(row: &ToolRow) -> [String; 2] {
    [
        row.name.clone(),
        first_sentence(row.description.as_deref().unwrap_or_default()),
    ]
}
