//! `kitbag skills`: lists skills the same way a client does.

use std::process::ExitCode;

use clap::Args;
use kitbag_domain::ServerName;
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::offers::SkillRow;

use super::Invocation;
use super::gateway::CommandGateway;
use super::listing::{ListArguments, OfferedRow, list};
use super::output::format_table;
use crate::local::requests::ListSkills;

/// List the skills a client sees.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    listing: ListArguments,
}

const EXAMPLES: &str = "\
Examples:
  kitbag skills
  kitbag skills --server docs --json
  kitbag resources read kitbag://server/docs/skill://git-workflow/SKILL.md

Read the files of a skill with `kitbag resources read`.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    list::<SkillRow>(&arguments.listing, invocation).await?;
    Ok(ExitCode::SUCCESS)
}

impl OfferedRow for SkillRow {
    const NOUN: &'static str = "skills";

    fn server(&self) -> &ServerName {
        &self.server
    }

    async fn fetch_rows(gateway: &mut CommandGateway) -> anyhow::Result<Vec<Self>> {
        gateway.ask(ListSkills {}).await
    }

    fn format_table(rows: &[Self]) -> String {
        format_table(
            ["NAME", "SERVER", "URI", "DESCRIPTION"],
            rows.iter().map(cells),
        )
    }
}

fn cells(row: &SkillRow) -> [String; 4] {
    [
        row.name.clone(),
        row.server.to_string(),
        row.uri.clone(),
        first_sentence(&row.description),
    ]
}
