//! The settings of one server, read one by one, so that the unread ones are known at the end.

use std::cell::RefCell;

use crate::config::FileFault;
use crate::tree::{Node, NodeData};

pub(super) struct ServerSettings<'a> {
    server: &'a str,
    node: &'a Node,
    read: RefCell<Vec<String>>,
}

impl<'a> ServerSettings<'a> {
    pub(super) fn new(server: &'a str, node: &'a Node) -> Result<Self, FileFault> {
        if !node.is_map() {
            return Err(FileFault::Type {
                key: server.to_owned(),
                expected: "a table of settings",
                found: node.kind(),
            });
        }
        Ok(Self {
            server,
            node,
            read: RefCell::default(),
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.read.borrow_mut().push(key.to_owned());
        let node = self.node.get(key);
        node.filter(|node| node.data != NodeData::Null)
    }

    /// Returns the first of several names for the same setting. All of them count as read.
    pub(super) fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, &'a Node)> {
        let mut first = None;
        for key in keys {
            let node = self.get(key);
            first = first.or(node.map(|node| (*key, node)));
        }
        first
    }

    pub(super) fn text(&self, keys: &[&str]) -> Result<Option<&'a str>, FileFault> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(None);
        };
        let text = node.text().map(Some);
        text.ok_or_else(|| self.fault(key, node, "text"))
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, FileFault> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        let value = node.bool().map(Some);
        value.ok_or_else(|| self.fault(key, node, "true or false"))
    }

    /// A list of words; numbers and booleans count as words.
    pub(super) fn words(&self, keys: &[&str]) -> Result<Vec<String>, FileFault> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(Vec::new());
        };
        let items = node.list();
        let items = items.ok_or_else(|| self.fault(key, node, "a list"))?;
        items.iter().map(|item| self.word(key, item)).collect()
    }

    /// Names and their values; a name without a value is skipped.
    pub(super) fn pairs(&self, keys: &[&str]) -> Result<Vec<(String, String)>, FileFault> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(Vec::new());
        };
        if !node.is_map() {
            return Err(self.fault(key, node, "a table"));
        }
        let mut pairs = Vec::new();
        for (name, value) in node.entries() {
            if value.data != NodeData::Null {
                let name = name.text.clone();
                let value = self.word(&format!("{key}.{name}"), value)?;
                pairs.push((name, value));
            }
        }
        Ok(pairs)
    }

    fn word(&self, key: &str, node: &Node) -> Result<String, FileFault> {
        match &node.data {
            NodeData::Text(text) | NodeData::Number(text) => Ok(text.clone()),
            NodeData::Bool(value) => Ok(value.to_string()),
            _ => Err(self.fault(key, node, "text")),
        }
    }

    pub(super) fn fault(&self, key: &str, node: &Node, expected: &'static str) -> FileFault {
        FileFault::ServerType {
            server: self.server.to_owned(),
            key: key.to_owned(),
            expected,
            found: node.kind(),
        }
    }

    pub(super) fn no_command_nor_address(&self) -> FileFault {
        FileFault::NoCommandNorAddress {
            server: self.server.to_owned(),
        }
    }

    /// Returns the settings that have a value and were not read.
    pub(super) fn unread_keys(&self) -> Vec<String> {
        let read = self.read.borrow();
        let entries = self.node.entries().iter();
        let unread = entries.filter(|(key, node)| !read.contains(&key.text) && !is_empty(node));
        unread.map(|(key, _)| key.text.clone()).collect()
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.data {
        NodeData::Null | NodeData::Bool(false) => true,
        NodeData::Text(text) => text.is_empty(),
        NodeData::List(items) => items.is_empty(),
        NodeData::Map(entries) => entries.is_empty(),
        NodeData::Bool(true) | NodeData::Number(_) => false,
    }
}
