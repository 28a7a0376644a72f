//! A project's servers that a user rejected when Claude Code asked. Claude Code records the
//! rejection in other files than the servers.

use std::collections::BTreeSet;
use std::path::Path;

use super::file::read_text;
use crate::client::Client;
use crate::config::ClientConfig;
use crate::directories::ClientDirectories;
use crate::tree::{self, FileFormat, Node};

const LIST: &str = "disabledMcpjsonServers";

/// Marks the rejected servers as disabled.
pub(super) fn disable_rejected(configs: &mut [ClientConfig], directories: &ClientDirectories) {
    let of_projects = configs.iter_mut().filter(|config| {
        let name = config.path.file_name();
        config.client == Client::ClaudeCode && name.is_some_and(|name| name == ".mcp.json")
    });
    let mut of_projects = of_projects.peekable();
    if of_projects.peek().is_none() {
        return;
    }
    let refused = rejected_servers(directories);
    for server in of_projects.flat_map(|config| &mut config.servers) {
        server.disabled |= refused.contains(&server.name);
    }
}

fn rejected_servers(directories: &ClientDirectories) -> BTreeSet<String> {
    let folder = directories.cwd.join(".claude");
    let here = directories.cwd.to_string_lossy();
    let user = directories.home.join(".claude.json");
    let mut names = BTreeSet::new();
    names.extend(read_list(&folder.join("settings.json"), &[LIST]));
    names.extend(read_list(&folder.join("settings.local.json"), &[LIST]));
    names.extend(read_list(&user, &["projects", &here, LIST]));
    names
}

/// Returns the names in a list of a file.
fn read_list(path: &Path, keys: &[&str]) -> Vec<String> {
    // If the file cannot be read, reading its servers reports why.
    let text = read_text(path).ok();
    let root = text.and_then(|text| tree::parse(FileFormat::from_path(path), &text).ok());
    let list = root.as_ref().and_then(|root| root.at(keys)?.list());
    let names = list.unwrap_or_default().iter().filter_map(Node::text);
    names.map(str::to_owned).collect()
}
