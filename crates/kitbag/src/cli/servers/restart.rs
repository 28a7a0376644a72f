//! `kitbag servers restart`: a server of the gateway that runs, ended and started again.

use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::ServerName;

use super::find;
use crate::cli::completions::servers;
use crate::cli::failure::Advise as _;
use crate::cli::output::offers;
use crate::cli::{Invocation, gateway};

/// Restart a server of the gateway that runs.
///
/// Calls under way at this server fail; those of other servers go on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers restart github")]
pub(super) struct Arguments {
    #[arg(add = ArgValueCandidates::new(servers))]
    name: ServerName,
}

pub(super) async fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let name = &find(&config, &arguments.name)?.name;
    let Some(restarting) = gateway::restart(name, &config, invocation).await else {
        return Err(anyhow!(
            "no gateway runs for this configuration, so there is nothing to restart"
        ))
        .advise(|| "start one: kitbag serve".to_owned());
    };
    let report = restarting?;
    invocation.output.show(&report, |report| {
        format!(
            "`{name}` was restarted and offers {}.",
            offers(report.tools, report.prompts, report.resources)
        )
    })
}
