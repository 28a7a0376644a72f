//! `kitbag doctor`: diagnoses problems and suggests fixes.
//!
//! # Layout
//! - `finding`: the result of one check; `report`: all results, for people and programs
//! - `configuration`, `store`, `tool_files`, `servers`, `clients`, `address`, `programs`, `versions`: the checks

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
use super::{Invocation, completions, to_exit_code};
pub(super) use configuration::has_literal_secret;
use finding::Finding;
use report::HealthReport;

/// Diagnose problems and suggest fixes.
///
/// Starts each server, lists its tools, and stops it again.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Check only these servers and the runtimes they need.
    #[arg(value_name = "SERVER", add = ArgValueCandidates::new(completions::servers))]
    servers: Vec<ServerName>,
    /// Check without starting or connecting to any server.
    #[arg(long)]
    offline: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag doctor
  kitbag doctor github
  kitbag doctor --offline
  kitbag doctor --json

Checks the configuration, the store, all enabled servers, the MCP clients on
this machine, the address to serve on, the sandbox for programs, the browser
for screenshots, and the versions of the servers' runtimes. The exit code is 1
if there is a problem. Warnings do not count as problems.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let mut findings = Vec::new();
    let config = configuration::check(invocation, &mut findings);
    if let Some(config) = config {
        run_checks(config, arguments, invocation, &mut findings).await?;
    } else {
        // All other checks need a configuration.
        findings.extend(clients::check(None, invocation).await);
    }
    let report = HealthReport::new(findings);
    invocation.show(&report, HealthReport::to_text)?;
    Ok(to_exit_code(report.is_healthy()))
}

async fn run_checks(
    mut config: Config,
    arguments: Arguments,
    invocation: &Invocation,
    findings: &mut Vec<Finding>,
) -> anyhow::Result<()> {
    let whole = arguments.servers.is_empty();
    if !whole {
        // A server named on the command line is checked even if it is disabled.
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
    findings.extend(configuration::check_providers(&config, &state));
    findings
        .extend(servers::check(&config, &state, arguments.offline, whole, invocation.output).await);
    if whole {
        findings.extend(tool_files::check(&config));
        findings.extend(clients::check(Some(&config), invocation).await);
        findings.extend(address::check(&config, state.has_keys).await);
        findings.push(address::check_running_gateway(&config, invocation).await);
        findings.extend(programs::check(&config).await);
    }
    findings.extend(versions::check(&config).await);
    Ok(())
}
