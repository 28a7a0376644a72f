//! `kitbag tools list`: lists the tools that a client sees.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::CatalogSettings;
use kitbag_domain::{ServerName, WriteClass};

use crate::cli::Invocation;
use crate::cli::completions::servers;
use crate::cli::gateway::{CommandGateway, JoinChoice, server_to_list};
use crate::cli::next_steps::{first_steps, has_no_servers};
use crate::cli::output::{format_table, pluralize};
use crate::cli::search::parse_write_class;
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::tool_table::{ToolFilter, ToolOrder, ToolSummary};

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
    /// Only tools with this effect: read, write, destructive or unknown.
    #[arg(long, value_name = "CLASS", value_parser = parse_write_class)]
    write_class: Option<WriteClass>,
    /// The order: name, server, use (most used first) or cost (most tokens first).
    #[arg(long, value_name = "ORDER", default_value = "name", value_parser = parse_order)]
    sort: ToolOrder,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools list
  kitbag tools list create issue
  kitbag tools list --server github --json
  kitbag tools list --write-class destructive --sort use

With --json, each tool has its effect, the estimated tokens of its definition
and its recent calls.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    // With `--server`, no other server needs to be started.
    let server = server_to_list(arguments.server.as_ref(), &config)?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let listed = gateway.summarize_tools(server, invocation.output).await;
    gateway.close().await;
    let tools = listed?;
    let mut rows: Vec<&ToolSummary> = tools.iter().collect();
    let known = rows.len();
    let is_first_run = has_no_servers(&config) && !rows.iter().any(is_from_tool_file);
    let filter = arguments.filter();
    rows.retain(|row| filter.matches(row));
    arguments.sort.sort(&mut rows);
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

    fn filter(&self) -> ToolFilter {
        ToolFilter {
            words: self.words.clone(),
            server: self.server.as_ref().map(ToString::to_string),
            write_class: self.write_class,
        }
    }
}

fn parse_order(text: &str) -> Result<ToolOrder, String> {
    ToolOrder::parse(text).ok_or_else(|| "expected name, server, use or cost".to_owned())
}

fn is_from_tool_file(tool: &&ToolSummary) -> bool {
    tool.row.server.as_str() == CatalogSettings::SERVER
}

fn cells(tool: &&ToolSummary) -> [String; 2] {
    [
        tool.row.name.clone(),
        first_sentence(tool.row.description.as_deref().unwrap_or_default()),
    ]
}
