//! The settings of one server, asked for one by one, so that at the end it is known which were not.

use std::cell::RefCell;

use crate::found::Wrong;
use crate::tree::{Data, Node};

pub(super) struct Entry<'a> {
    server: &'a str,
    node: &'a Node,
    asked: RefCell<Vec<String>>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(server: &'a str, node: &'a Node) -> Result<Self, Wrong> {
        let entry = Self {
            server,
            node,
            asked: RefCell::default(),
        };
        if node.is_map() {
            Ok(entry)
        } else {
            Err(entry.wrong("", node, "a table of settings"))
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.asked.borrow_mut().push(key.to_owned());
        self.node.get(key).filter(|node| node.data != Data::Null)
    }

    /// The first of several names for the same thing.
    pub(super) fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, &'a Node)> {
        let found: Vec<_> = keys
            .iter()
            .filter_map(|key| Some((*key, self.get(key)?)))
            .collect();
        found.into_iter().next()
    }

    pub(super) fn text(&self, keys: &[&str]) -> Result<Option<&'a str>, Wrong> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(None);
        };
        node.text()
            .map(Some)
            .ok_or_else(|| self.wrong(key, node, "text"))
    }

    pub(super) fn bool(&self, key: &str) -> Result<Option<bool>, Wrong> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        node.bool()
            .map(Some)
            .ok_or_else(|| self.wrong(key, node, "true or false"))
    }

    /// A list of words; numbers and switches count as words.
    pub(super) fn words(&self, keys: &[&str]) -> Result<Vec<String>, Wrong> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(Vec::new());
        };
        let items = node.list().ok_or_else(|| self.wrong(key, node, "a list"))?;
        items
            .iter()
            .map(|item| word(item).ok_or_else(|| self.wrong(key, item, "text")))
            .collect()
    }

    /// Names and what stands under them; a name without a value does not count.
    pub(super) fn pairs(&self, keys: &[&str]) -> Result<Vec<(String, String)>, Wrong> {
        let Some((key, node)) = self.first(keys) else {
            return Ok(Vec::new());
        };
        if !node.is_map() {
            return Err(self.wrong(key, node, "a table"));
        }
        let filled = node
            .entries()
            .iter()
            .filter(|(_, value)| value.data != Data::Null);
        let pair = |name: &str, value: &Node| {
            let text =
                word(value).ok_or_else(|| self.wrong(&format!("{key}.{name}"), value, "text"))?;
            Ok((name.to_owned(), text))
        };
        filled
            .map(|(name, value)| pair(&name.text, value))
            .collect()
    }

    pub(super) fn wrong(&self, key: &str, node: &Node, expected: &'static str) -> Wrong {
        let (server, found) = (self.server.to_owned(), node.kind());
        if key.is_empty() {
            return Wrong::Type {
                key: server,
                expected,
                found,
            };
        }
        Wrong::ServerType {
            server,
            key: key.to_owned(),
            expected,
            found,
        }
    }

    pub(super) fn nowhere(&self) -> Wrong {
        Wrong::Nowhere {
            server: self.server.to_owned(),
        }
    }

    /// Settings that nobody asked for and that say something.
    pub(super) fn left(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        let says_nothing = |node: &Node| match &node.data {
            Data::Null | Data::Bool(false) => true,
            Data::Text(text) => text.is_empty(),
            Data::List(items) => items.is_empty(),
            Data::Map(entries) => entries.is_empty(),
            Data::Bool(true) | Data::Number(_) => false,
        };
        let entries = self.node.entries().iter();
        let left = entries.filter(|(key, node)| !asked.contains(&key.text) && !says_nothing(node));
        left.map(|(key, _)| key.text.clone()).collect()
    }
}

fn word(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) | Data::Number(text) => Some(text.clone()),
        Data::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
