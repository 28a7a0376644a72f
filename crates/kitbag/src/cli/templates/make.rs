//! `kitbag templates make`: makes a template from a tool's definition, plainly or by a language model.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{DescribedTool, ExposedName, ServerName, derived_effect};
use kitbag_intents::IntentTemplate;
use kitbag_intents::template::draft::{DraftedTool, draft};
use kitbag_schema::member_call;
use serde_json::Value;

use super::exchange;
use super::generate::{Generation, TemplateWriter};
use crate::cli::Invocation;
use crate::cli::completions::tools;
use crate::cli::failure::Advise as _;
use crate::cli::gateway::{CommandGateway, JoinChoice, find_owner};
use crate::cli::tools::show;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Tool name, as in `kitbag tools`.
    #[arg(add = ArgValueCandidates::new(tools))]
    tool: String,
    /// Output file; must not exist yet [default: stdout].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    generation: Generation,
    #[command(flatten)]
    join: JoinChoice,
}

pub(super) async fn make_template(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let config = invocation.config()?;
    // Report a missing key before a server is started.
    let writer = arguments.generation.open_writer(invocation.output)?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let owner = find_owner(&arguments.tool, &config);
    let making = async {
        let found = show::find(&mut gateway, &arguments.tool, owner, invocation.output).await?;
        make(&arguments.tool, &found, writer.as_ref(), &mut gateway).await
    };
    let made = making.await;
    gateway.close().await;
    exchange::export(&made?, arguments.output.as_deref(), invocation)?;
    if writer.is_some() {
        invocation.output.note(NEXT_STEPS);
    }
    Ok(())
}

const NEXT_STEPS: &str = "Review it. Then import it with `kitbag templates import FILE` and approve it, or put it into \
     the folder `templates`";

async fn make(
    name: &str,
    definition: &Value,
    writer: Option<&TemplateWriter<'_>>,
    gateway: &mut CommandGateway,
) -> anyhow::Result<IntentTemplate> {
    let named = ExposedName::split(name)
        .and_then(|(server, tool)| Some((server.parse::<ServerName>().ok()?, tool)));
    let Some((server, tool)) = named else {
        return Err(anyhow!("`{name}` does not belong to a server"))
            .advise(|| "use a tool name as in `kitbag tools`".to_owned());
    };
    let tool = DraftedTool {
        server: &server,
        name: tool,
        call: &member_call(server.as_str(), tool),
        definition,
        reads: is_read_only(&server, tool, definition),
    };
    match writer {
        Some(writer) => writer.write_template(&tool, gateway).await,
        None => draft(&tool)
            .map_err(|error| anyhow!("cannot make a template for `{name}`: {error}"))
            .advise(|| "let a model write it with --model, or write one by hand; docs/intents.md has an example".to_owned()),
    }
}

/// True if the server's hints say that the tool only reads, or without hints its name and description.
pub(in crate::cli) fn is_read_only(server: &ServerName, tool: &str, definition: &Value) -> bool {
    let hints = &definition["annotations"];
    if hints["readOnlyHint"].is_boolean() || hints["destructiveHint"].is_boolean() {
        return hints["readOnlyHint"] == true;
    }
    let properties = definition["inputSchema"]["properties"].as_object();
    let parameters = properties.into_iter().flat_map(|it| it.keys());
    derived_effect::only_reads(&DescribedTool {
        server: server.as_str(),
        name: tool,
        description: definition["description"].as_str().unwrap_or_default(),
        parameters: &parameters.map(String::as_str).collect::<Vec<_>>(),
    })
}
