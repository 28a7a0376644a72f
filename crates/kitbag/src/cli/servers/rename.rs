//! `kitbag servers rename`: renames a server, and thereby its tools.

use anyhow::anyhow;
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::edit;
use kitbag_domain::ServerName;
use serde_json::json;

use super::editable;
use crate::cli::Invocation;
use crate::cli::completions::own_servers;
use crate::cli::failure::Advise as _;

/// Rename a server.
///
/// Its tools are then called NEW__tool. Rules, groups and overrides that use the old name are not
/// changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers rename fs notes")]
pub(super) struct Arguments {
    #[arg(add = ArgValueCandidates::new(own_servers))]
    old: ServerName,
    new: ServerName,
}

pub(super) fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let Arguments { old, new } = arguments;
    let (config, path) = editable(old, invocation)?;
    if config.find_server(new).is_some() || config.providers.contains_key(new) {
        return Err(anyhow!("server `{new}` already exists"))
            .advise(|| "list the servers with `kitbag servers list`".to_owned());
    }
    let text = edit::rename_server(&edit::read_file(&path)?, old, new)?;
    let text = text.ok_or_else(|| anyhow!("`{old}` is not in {}", path.display()))?;
    edit::write_file(&path, &text)?;
    let result = json!({ "old": old, "new": new, "config": path });
    invocation.show(&result, |_| {
        format!("Renamed `{old}` to `{new}`; its tools are now called {new}__…")
    })
}
