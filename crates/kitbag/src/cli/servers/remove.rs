//! `kitbag servers remove`: removes a server from the configuration file.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::{Config, edit};
use kitbag_domain::ServerName;
use serde_json::json;

use super::editable_file;
use crate::cli::Invocation;
use crate::cli::completions::own_servers;

/// Remove a server from the configuration.
#[derive(Debug, Args)]
#[command(
    visible_alias = "rm",
    after_help = "Examples:\n  kitbag servers remove time"
)]
pub(super) struct Arguments {
    #[arg(add = ArgValueCandidates::new(own_servers))]
    name: ServerName,
}

pub(super) fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let name = &arguments.name;
    let path = remove_server(name, &invocation.config()?)?;
    invocation.show(&json!({ "name": name, "config": path }), |_| {
        format!("Removed `{name}` from {}", path.display())
    })
}

/// Removes the server from the user's file, and returns its path.
pub(crate) fn remove_server(name: &ServerName, config: &Config) -> anyhow::Result<PathBuf> {
    let path = editable_file(name, config)?;
    if let Some(text) = edit::remove_server(&edit::read_file(&path)?, name)? {
        edit::write_file(&path, &text)?;
    }
    Ok(path)
}
