//! The sections of a file that contain servers.

use std::path::PathBuf;

use crate::client::Client;
use crate::tree::{Key, Node, NodeData};

#[derive(Debug)]
pub(crate) struct ServerSection<'a> {
    /// The keys that lead to the section.
    pub(crate) keys: Vec<String>,
    pub(crate) node: &'a Node,
    /// The folder to which the client limits these servers, if the file names one.
    pub(crate) project: Option<PathBuf>,
}

/// Finds the sections in a file of this client.
pub(crate) fn sections(client: Client, root: &Node) -> Vec<ServerSection<'_>> {
    let paths = section_paths(client, root).iter();
    let mut sections: Vec<_> = paths.filter_map(|keys| section_at(root, keys)).collect();
    if client == Client::ClaudeCode {
        sections.extend(project_sections(root));
    }
    sections
}

fn section_paths(client: Client, root: &Node) -> &'static [&'static [&'static str]] {
    match client {
        Client::VsCode => &[&["servers"], &["mcp", "servers"], &["mcpServers"]],
        Client::Zed => &[&["context_servers"]],
        Client::Codex => &[&["mcp_servers"]],
        Client::Goose => &[&["extensions"]],
        Client::Opencode if has_nested_servers(root) => &[&["mcp", "servers"]],
        Client::Opencode => &[&["mcp"]],
        Client::Gemini | Client::Continue | Client::ClaudeCode => &[&["mcpServers"]],
        _ => &[&["mcpServers"], &["servers"]],
    }
}

fn section_at<'a>(root: &'a Node, keys: &[&str]) -> Option<ServerSection<'a>> {
    Some(ServerSection {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        node: root.at(keys)?,
        project: None,
    })
}

/// Claude Code stores the servers of a user's projects in the user's file.
fn project_sections(root: &Node) -> impl Iterator<Item = ServerSection<'_>> {
    let projects = root.get("projects").map(Node::entries).unwrap_or_default();
    projects
        .iter()
        .filter_map(|(folder, settings)| project_section(&folder.text, settings))
}

fn project_section<'a>(folder: &str, settings: &'a Node) -> Option<ServerSection<'a>> {
    let node = settings.get("mcpServers")?;
    let keys = ["projects", folder, "mcpServers"].map(str::to_owned);
    (!node.entries().is_empty()).then(|| ServerSection {
        keys: keys.into(),
        node,
        project: Some(PathBuf::from(folder)),
    })
}

/// True if opencode's servers are nested one level deeper, as in its second layout. A server that
/// happens to be called `servers` has a type.
fn has_nested_servers(root: &Node) -> bool {
    let servers = root.at(&["mcp", "servers"]);
    servers.is_some_and(|node| node.is_map() && node.get("type").is_none())
}

/// Returns the servers of a section with their names. In a list, each server holds its own name.
pub(crate) fn named_servers<'a>(
    section: &ServerSection<'a>,
) -> Vec<(Option<String>, &'a Key, &'a Node)> {
    const NO_KEY: &Key = &Key {
        text: String::new(),
        span: 0..0,
    };
    if let NodeData::List(items) = &section.node.data {
        let items = items.iter();
        return items.map(|node| (name_of(node), NO_KEY, node)).collect();
    }
    let entries = section.node.entries().iter();
    entries
        .map(|(key, node)| (Some(key.text.clone()), key, node))
        .collect()
}

fn name_of(node: &Node) -> Option<String> {
    node.get("name").and_then(Node::text).map(str::to_owned)
}
