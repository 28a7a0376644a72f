//! `kitbag servers restart`: restarts a server of the running gateway.

use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::ServerName;

use super::find;
use crate::cli::Invocation;
use crate::cli::completions::servers;
use crate::cli::failure::Advise as _;
use crate::cli::gateway::ask_running_gateway;
use crate::cli::output::describe_offers;
use crate::local::requests::RestartServer;

/// Restart a server of the running gateway.
///
/// Calls in progress at this server fail. Other servers are not affected.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers restart github")]
pub(super) struct Arguments {
    #[arg(add = ArgValueCandidates::new(servers))]
    name: ServerName,
}

pub(super) async fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let name = &find(&config, &arguments.name)?.name;
    let server = name.clone();
    let restarting = ask_running_gateway(RestartServer { server }, &config, invocation);
    let report = invocation
        .output
        .with_progress(&format!("Restarting {name}"), restarting)
        .await
        .ok_or_else(|| anyhow!("no gateway is running for this configuration"))
        .advise(|| "start one: kitbag serve".to_owned())??;
    invocation.show(&report, |report| {
        format!(
            "`{name}` was restarted and offers {}.",
            describe_offers(report.tools, report.prompts, report.resources)
        )
    })
}
