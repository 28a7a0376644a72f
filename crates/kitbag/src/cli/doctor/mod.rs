//! `kitbag doctor`: tells what is wrong, why, and what mends it.
//!
//! # Layout
//! - `finding`: one thing that was found; `report`: all of them, for people and programs
//! - `configuration`, `store`, `tool_files`, `servers`, `clients`, `address`, `programs`, `versions`: what is looked at

mod address;
mod clients;
mod configuration;
mod finding;
mod programs;
mod report;
mod servers;
mod store;
mod tool_files;
mod versions;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::Config;
use kitbag_domain::ServerName;

use super::servers::find;
use super::{Invocation, completions, exit_code};
pub(super) use configuration::has_literal_secret;
use finding::Finding;
use report::HealthReport;

/// Look for what is wrong, and say what mends it.
///
/// Servers are started for real, asked what they offer, and stopped again.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Look only at these servers, and at what they need.
    #[arg(value_name = "SERVER", add = ArgValueCandidates::new(completions::servers))]
    servers: Vec<ServerName>,
    /// Start no server and reach none; look only at what is on this machine.
    #[arg(long)]
    offline: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag doctor
  kitbag doctor github
  kitbag doctor --offline
  kitbag doctor --json

Looked at are the configuration, the store, every server that is enabled, the
MCP clients on this machine, the address to serve on, the sandbox of programs,
the browser that pictures pages, and the versions of what servers run with. The
exit code is 1 when there is a problem; warnings are none.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let mut findings = Vec::new();
    let config = configuration::check(invocation, &mut findings);
    if let Some(config) = config {
        look(config, arguments, invocation, &mut findings).await?;
    } else {
        // The checks that need a configuration wait until the person has mended it.
        findings.extend(clients::check(None, invocation).await);
    }
    let report = HealthReport::of(findings);
    invocation.output.show(&report, HealthReport::for_people)?;
    Ok(exit_code(report.is_healthy()))
}

async fn look(
    mut config: Config,
    arguments: Arguments,
    invocation: &Invocation,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let whole = arguments.servers.is_empty();
    if !whole {
        // A server that the person names is looked at even while it is switched off.
        let named = arguments
            .servers
            .iter()
            .map(|name| Ok((name.clone(), find(&config, name)?.clone())));
        let mut named = named.collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        config.agents = config
            .agents
            .filter(|agents| named.remove(&agents.spec.name).is_some());
        config.servers = named;
    }
    let state = store::check(&config, findings).await;
    findings.extend(configuration::providers(&config, &state));
    findings
        .extend(servers::check(&config, &state, arguments.offline, whole, invocation.output).await);
    if whole {
        findings.extend(tool_files::check(&config));
        findings.extend(clients::check(Some(&config), invocation).await);
        findings.extend(address::check(&config, state.has_keys).await);
        findings.push(address::running(&config, invocation).await);
        findings.extend(programs::check(&config).await);
    }
    findings.extend(versions::check(&config).await);
    Ok(())
}
