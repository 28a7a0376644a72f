//! `kitbag learned mark`: says that a tool is right for a request, or wrong.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{Action, Event, Tenant};
use kitbag_gateway::learning::marks::ToolMark;
use serde_json::json;

use crate::cli::Invocation;
use crate::cli::completions::tools;
use crate::cli::gateway::{CommandGateway, JoinChoice};
use crate::cli::open_store::open_store;
use crate::local::requests::MarkTool;
use crate::trail;

/// Teach the search that a tool is right for a request, or wrong.
///
/// A mark is a lesson that counts more than a use. Similar requests of the same tenant find the
/// tool earlier, or later.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Tool name, as in `kitbag tools`.
    #[arg(add = ArgValueCandidates::new(tools))]
    tool: String,
    /// The request, in the words of a search.
    #[arg(long, value_name = "TEXT")]
    query: String,
    /// The tool is wrong for the request.
    #[arg(long)]
    wrong: bool,
    /// The tenant whose searches learn.
    #[arg(long, value_name = "NAME", default_value_t = Tenant::local())]
    tenant: Tenant,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag learned mark github__create_issue --query 'report a bug'
  kitbag learned mark mail__send --query 'report a bug' --wrong
  kitbag learned mark github__create_issue --query 'report a bug' --tenant acme

To undo it, forget the lesson, which `kitbag learned show TOOL` lists:
kitbag learned forget --lesson NUMBER";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let mark = ToolMark {
        tenant: arguments.tenant,
        key: None,
        query: arguments.query,
        tool: arguments.tool,
        is_right: !arguments.wrong,
    };
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let listed = gateway
        .fetch_listing_of_tool(&mark.tool, &config, invocation.output)
        .await;
    let marked = match listed {
        Ok(()) => gateway.ask(MarkTool { mark: mark.clone() }).await,
        Err(error) => Err(error),
    };
    gateway.close().await;
    marked?;
    let store = open_store(&config, "cannot record the mark").await?;
    let event = trail::change_event("kitbag learned mark", Action::ResultMarked, &mark.tool);
    let recorded = trail::record_event(&store, mark_event(event, &mark)).await;
    store.close().await;
    recorded?;
    let report = json!({ "tool": mark.tool, "tenant": mark.tenant, "right": mark.is_right });
    invocation.show(&report, |_| describe_mark(&mark))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds the tenant and the judgement to an audit event.
pub(crate) fn mark_event(event: Event, mark: &ToolMark) -> Event {
    let judgement = if mark.is_right { "right" } else { "wrong" };
    Event {
        tenant: Some(mark.tenant.clone()),
        detail: Some(kitbag_domain::ShortText::truncate(judgement)),
        ..event
    }
}

/// Describes what was learned.
pub(crate) fn describe_mark(mark: &ToolMark) -> String {
    let judgement = if mark.is_right { "right" } else { "wrong" };
    let (tool, tenant) = (&mark.tool, &mark.tenant);
    format!("Learned: {tool} is {judgement} for requests like this of the tenant {tenant}.")
}
