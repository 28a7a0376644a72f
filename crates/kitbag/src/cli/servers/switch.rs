//! `kitbag servers enable` and `kitbag servers disable`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::{Config, edit};
use kitbag_domain::ServerName;
use serde_json::json;

use super::editable_file;
use crate::cli::Invocation;
use crate::cli::completions::{disabled_servers, enabled_servers};

/// Enable a disabled server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers enable time")]
pub(super) struct EnableArguments {
    #[arg(add = ArgValueCandidates::new(disabled_servers))]
    name: ServerName,
}

/// Disable a server without removing it.
///
/// A running gateway finishes calls in progress first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers disable time")]
pub(super) struct DisableArguments {
    #[arg(add = ArgValueCandidates::new(enabled_servers))]
    name: ServerName,
}

pub(super) fn enable(arguments: &EnableArguments, invocation: &Invocation) -> anyhow::Result<()> {
    switch(&arguments.name, true, invocation)
}

pub(super) fn disable(arguments: &DisableArguments, invocation: &Invocation) -> anyhow::Result<()> {
    switch(&arguments.name, false, invocation)
}

fn switch(name: &ServerName, on: bool, invocation: &Invocation) -> anyhow::Result<()> {
    let (changed, path) = switch_server(name, on, &invocation.config()?)?;
    let result = json!({ "name": name, "enabled": on, "changed": changed, "config": path });
    invocation.show(&result, |_| match (on, changed) {
        (true, true) => format!("Enabled `{name}`"),
        (false, true) => {
            format!("Disabled `{name}`; to enable it again: kitbag servers enable {name}")
        }
        (true, false) => format!("`{name}` is already enabled"),
        (false, false) => format!("`{name}` is already disabled"),
    })
}

/// Enables or disables the server in the user's file. Returns whether that changed it, and its
/// path.
pub(crate) fn switch_server(
    name: &ServerName,
    on: bool,
    config: &Config,
) -> anyhow::Result<(bool, PathBuf)> {
    let path = editable_file(name, config)?;
    let changed = config.servers.contains_key(name) != on;
    if changed {
        let text = edit::set_enabled(&edit::read_file(&path)?, name, on)?;
        let text = text.ok_or_else(|| anyhow!("`{name}` is not in {}", path.display()))?;
        edit::write_file(&path, &text)?;
    }
    Ok((changed, path))
}
