//! A file of any format as one tree, in which every value has its position in the text.

mod json;
mod toml;
mod yaml;

use std::ops::Range;
use std::path::Path;

use serde_json::Value;

pub(crate) use json::options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// JSON with comments and trailing commas, which some clients write.
    Json,
    Toml,
    Yaml,
}

/// Nodes with the same data are equal, whatever their positions.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) data: NodeData,
    /// In bytes of the text.
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeData {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A syntax error in a text. The message never quotes the text, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Parses a text. An empty text is an empty map.
pub(crate) fn parse(format: FileFormat, text: &str) -> Result<Node, SyntaxError> {
    if text.trim().is_empty() {
        return Ok(Node::empty(text));
    }
    match format {
        FileFormat::Json => json::parse(text),
        FileFormat::Toml => toml::parse(text),
        FileFormat::Yaml => yaml::parse(text),
    }
}

/// Returns the one-based line number, as editors count.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

impl FileFormat {
    pub(crate) fn from_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

impl Node {
    /// An empty map that spans the whole text.
    fn empty(text: &str) -> Self {
        Self {
            data: NodeData::Map(Vec::new()),
            span: 0..text.len(),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        // If a key is repeated the last one wins, as in every client.
        self.entries()
            .iter()
            .rev()
            .find(|(found, _)| found.text == key)
            .map(|(key, node)| (key, node))
    }

    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Empty for a node that is not a map.
    pub(crate) fn entries(&self) -> &[(Key, Self)] {
        match &self.data {
            NodeData::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            NodeData::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.data {
            NodeData::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match &self.data {
            NodeData::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.data, NodeData::Map(_))
    }

    /// True if the node can contain servers, even if it has none.
    pub(crate) fn holds_servers(&self) -> bool {
        matches!(
            self.data,
            NodeData::Map(_) | NodeData::List(_) | NodeData::Null
        )
    }

    /// The kind of the value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            NodeData::Null => "nothing",
            NodeData::Bool(_) => "true or false",
            NodeData::Number(_) => "a number",
            NodeData::Text(_) => "text",
            NodeData::List(_) => "a list",
            NodeData::Map(_) => "a table",
        }
    }

    /// Returns the data as JSON.
    pub(crate) fn value(&self) -> Value {
        match &self.data {
            NodeData::Null => Value::Null,
            NodeData::Bool(value) => Value::Bool(*value),
            NodeData::Number(number) => {
                serde_json::from_str(number).unwrap_or(Value::String(number.clone()))
            }
            NodeData::Text(text) => Value::String(text.clone()),
            NodeData::List(items) => items.iter().map(Self::value).collect(),
            NodeData::Map(entries) => entries
                .iter()
                .map(|(key, node)| (key.text.clone(), node.value()))
                .collect(),
        }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_formats_give_the_same_tree() {
        let json = parse(
            FileFormat::Json,
            "{ \"a\": { \"b\": [1, true, \"é\", null,], }, } // end",
        )
        .unwrap();
        let yaml = parse(FileFormat::Yaml, "a:\n  b: [1, true, é, null]\n").unwrap();
        assert_eq!(json, yaml);
        let toml = parse(FileFormat::Toml, "[a]\nb = [1, true, 'é']").unwrap();
        let json = parse(FileFormat::Json, r#"{"a": {"b": [1, true, "é"]}}"#).unwrap();
        assert_eq!(json, toml);
    }

    #[test]
    fn every_value_has_its_position() {
        for (format, text) in [
            (FileFormat::Json, "{\"é\": {\n  \"port\": 80}}"),
            (FileFormat::Toml, "# é\n[\"é\"]\nport = 80"),
            (FileFormat::Yaml, "# é\né:\n  port: 80\n"),
        ] {
            let root = parse(format, text).unwrap();
            let (key, node) = root.get("é").unwrap().entry("port").unwrap();
            assert_eq!(&text[node.span.clone()], "80", "{format:?}");
            assert!(text[key.span.clone()].contains("port"), "{format:?}");
        }
    }

    #[test]
    fn a_syntax_error_has_its_line_and_never_quotes_the_text() {
        for (format, text) in [
            (FileFormat::Json, "{\n\"key\": \"s3cret\" \"x\"}"),
            (FileFormat::Json, "{\n\"key\": s3cret}"),
            (FileFormat::Toml, "a = 1\nkey = s3cret"),
            (FileFormat::Toml, "a = 1\na = 's3cret'"),
            (FileFormat::Yaml, "a: b\nkey: [s3cret"),
            (FileFormat::Yaml, "a: b\na: *s3cret"),
        ] {
            let wrong = parse(format, text).unwrap_err();
            assert!(line(text, wrong.at) >= 2, "{format:?}: {wrong:?}");
            assert!(!wrong.message.contains("s3cret"), "{format:?}: {wrong:?}");
        }
    }
}
