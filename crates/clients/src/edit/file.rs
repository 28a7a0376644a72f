//! The text of a file with its servers, and the checks that an edit has preserved them.

use serde_json::Value;

use super::{FileEditError, NAME, SwitchedOff, parse, without_mark};
use crate::client::{Client, ClientFile};
use crate::read::{ServerSection, named_servers, sections};
use crate::tree::{FileFormat, Node};

pub(super) struct EditedFile<'a> {
    pub(super) client: Client,
    pub(super) format: FileFormat,
    text: &'a str,
    root: Node,
    /// The keys that lead to the servers, even if the file has none yet.
    keys: Vec<String>,
}

impl<'a> EditedFile<'a> {
    pub(super) fn parse(file: &ClientFile, text: &'a str) -> Result<Self, FileEditError> {
        let (_, text) = without_mark(text);
        let format = FileFormat::from_path(&file.path);
        let root = parse(format, text)?;
        let keys = section_keys(file.client, &root).unwrap_or_else(|| default_keys(file));
        Ok(Self {
            client: file.client,
            format,
            text,
            root,
            keys,
        })
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        self.keys.iter().map(String::as_str).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let servers = self.servers().into_iter();
        servers.map(|(name, _)| name).collect()
    }

    pub(super) fn server(&self, name: &str) -> Option<&Node> {
        let mut servers = self.servers().into_iter();
        let (_, node) = servers.find(|(found, _)| found == name)?;
        Some(node)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        let Some(node) = self.server(name) else {
            return false;
        };
        match SwitchedOff::for_client(self.client) {
            SwitchedOff::Switch { key, value } => node.get(key).and_then(Node::bool) != Some(value),
            SwitchedOff::Aside => true,
        }
    }

    /// Fails if the value at the servers' keys is not a collection of servers.
    pub(super) fn check_section(&self) -> Result<(), FileEditError> {
        match self.section() {
            Some(section) if !section.node.holds_servers() => {
                Err(FileEditError::not_a_table(&self.keys()))
            }
            _ => Ok(()),
        }
    }

    /// Fails unless Kitbag is correctly in the new file, the servers in `switched` are off, and
    /// everything else is unchanged.
    pub(super) fn check_after_adding(
        &self,
        after: &Self,
        value: &Value,
        switched: &[String],
    ) -> Result<(), FileEditError> {
        let added = after.server(NAME).map(Node::value);
        let kept = self
            .names()
            .into_iter()
            .all(|name| name == NAME || self.is_kept(after, &name, switched.contains(&name)));
        let around_kept =
            self.text.trim().is_empty() || self.other_entries() == after.other_entries();
        check(added.as_ref() == Some(value) && kept && around_kept)
    }

    /// Fails unless all servers other than Kitbag are still present.
    pub(super) fn check_after_removing(&self, after: &Self) -> Result<(), FileEditError> {
        let mut names = self.names().into_iter();
        let kept = names.all(|name| name == NAME || after.server(&name).is_some());
        check(kept && after.server(NAME).is_none())
    }

    fn is_kept(&self, after: &Self, name: &str, switched: bool) -> bool {
        if switched {
            !after.is_on(name)
        } else {
            self.server(name) == after.server(name)
        }
    }

    fn section(&self) -> Option<ServerSection<'_>> {
        let mut sections = sections(self.client, &self.root).into_iter();
        sections.find(|section| section.keys == self.keys)
    }

    fn servers(&self) -> Vec<(String, &Node)> {
        let servers = self.section().map(|section| named_servers(&section));
        let servers = servers.unwrap_or_default().into_iter();
        servers
            .filter_map(|(name, _, node)| Some((name?, node)))
            .collect()
    }

    /// The entries of the file outside the servers. Switched-off servers are under a key with the
    /// same prefix as theirs.
    fn other_entries(&self) -> Vec<(&str, &Node)> {
        let first = self.keys.first().map(String::as_str).unwrap_or_default();
        let entries = self.root.entries().iter();
        entries
            .map(|(key, node)| (key.text.as_str(), node))
            .filter(|(key, _)| !key.starts_with(first))
            .collect()
    }
}

fn check(kept: bool) -> Result<(), FileEditError> {
    if kept {
        Ok(())
    } else {
        Err(FileEditError::Entangled)
    }
}

/// The keys of the servers that the client uses in every folder.
fn section_keys(client: Client, root: &Node) -> Option<Vec<String>> {
    let mut sections = sections(client, root).into_iter();
    let section = sections.find(|section| section.project.is_none())?;
    Some(section.keys)
}

/// The keys for servers in a file that has none yet.
fn default_keys(file: &ClientFile) -> Vec<String> {
    let keys: &[&str] = match file.client {
        Client::VsCode if file.path.ends_with("settings.json") => &["mcp", "servers"],
        Client::VsCode if file.path.ends_with("mcp-config.json") => &["mcpServers"],
        Client::VsCode => &["servers"],
        Client::Zed => &["context_servers"],
        Client::Codex => &["mcp_servers"],
        Client::Goose => &["extensions"],
        Client::Opencode => &["mcp"],
        _ => &["mcpServers"],
    };
    keys.iter().map(|key| (*key).to_owned()).collect()
}
