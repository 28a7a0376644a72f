//! `kitbag tools access`: whether a tenant or a key may use a tool, and by which rule.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{Caller, KeyId, Tenant};
use kitbag_gateway::admin::app::{AccessDecision, AccessOutcome};

use crate::cli::Invocation;
use crate::cli::completions::{keys, tools};
use crate::cli::gateway::{CommandGateway, JoinChoice};
use crate::cli::key::find_caller;
use crate::cli::open_store::open_store;
use crate::cli::output::strip_controls;
use crate::local::requests::ExplainAccess;

/// Show whether a tenant or a key may use a tool, and by which rule.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Tool as clients call it, or SERVER/TOOL.
    #[arg(add = ArgValueCandidates::new(tools))]
    name: String,
    /// Tenant [default: the user at this machine].
    #[arg(long, conflicts_with = "key")]
    tenant: Option<Tenant>,
    /// ID of a key, as in `kitbag key list`.
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(keys))]
    key: Option<String>,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools access github__delete_repo
  kitbag tools access github__delete_repo --tenant acme
  kitbag tools access github/delete_repo --key 3f9c1a20

The exit code is 1 if the tool is not allowed.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let caller = match (arguments.key, arguments.tenant) {
        (Some(id), _) => {
            let store = open_store(&config, "cannot open the keys").await?;
            let caller = find_caller(&store, &KeyId(id)).await;
            store.close().await;
            caller?
        }
        (None, Some(tenant)) => caller_of_tenant(tenant),
        (None, None) => Caller::local(),
    };
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let Caller { tenant, key, role } = caller;
    let tool = arguments.name;
    let request = ExplainAccess {
        tenant,
        key,
        role,
        tool,
    };
    let decision = gateway.ask(request).await;
    gateway.close().await;
    let decision = decision?;
    invocation.show(&decision, format_decision)?;
    Ok(match decision.outcome {
        AccessOutcome::Allowed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Returns a caller with some key of a tenant.
pub(crate) fn caller_of_tenant(tenant: Tenant) -> Caller {
    match tenant == Tenant::local() {
        true => Caller::local(),
        false => Caller::user(tenant, KeyId("any".to_owned())),
    }
}

fn format_decision(decision: &AccessDecision) -> String {
    let mut text = format!("{}: {}", decision.tool, describe_outcome(decision.outcome));
    if let Some(reason) = &decision.reason {
        text += &format!("\n{reason}");
    }
    if !decision.is_listed && decision.outcome != AccessOutcome::Unknown {
        text += "\nNo server lists this tool.";
    }
    strip_controls(&text)
}

pub(crate) fn describe_outcome(outcome: AccessOutcome) -> &'static str {
    match outcome {
        AccessOutcome::Allowed => "allowed",
        AccessOutcome::Denied => "denied",
        AccessOutcome::Hidden => "hidden, as if it did not exist",
        AccessOutcome::Unapproved => "hidden from everybody until its definition is approved",
        AccessOutcome::Unknown => "not the name of a tool",
    }
}
