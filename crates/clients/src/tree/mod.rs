//! A file of any format as one tree, in which every value remembers where it stood.

mod json;
mod toml;
mod yaml;

use std::ops::Range;
use std::path::Path;

use serde_json::Value;

pub(crate) use json::options;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// With comments and trailing commas, which some clients write.
    Json,
    Toml,
    Yaml,
}

/// Equal when it holds the same, wherever it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) data: Data,
    /// In bytes of the text.
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    /// As it was written, or as it would be.
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

/// Why a text is not what its format wants. The message never quotes the text: it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misspelt {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// An empty text is an empty map.
pub(crate) fn parse(format: Format, text: &str) -> Result<Node, Misspelt> {
    if text.trim().is_empty() {
        return Ok(Node {
            data: Data::Map(Vec::new()),
            span: 0..text.len(),
        });
    }
    match format {
        Format::Json => json::parse(text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

/// Counted from one, as editors do.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

impl Format {
    pub(crate) fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        // Of a key written twice the last counts, as it does for every client.
        self.entries()
            .iter()
            .rev()
            .find(|(found, _)| found.text == key)
            .map(|(key, node)| (key, node))
    }

    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// None for anything that is no map.
    pub(crate) fn entries(&self) -> &[(Key, Self)] {
        match &self.data {
            Data::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match &self.data {
            Data::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.data, Data::Map(_))
    }

    /// Whether servers can stand in it, even if none do.
    pub(crate) fn holds_servers(&self) -> bool {
        matches!(self.data, Data::Map(_) | Data::List(_) | Data::Null)
    }

    /// What kind of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Number(_) => "a number",
            Data::Text(_) => "text",
            Data::List(_) => "a list",
            Data::Map(_) => "a table",
        }
    }

    /// The same as JSON.
    pub(crate) fn value(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => {
                serde_json::from_str(number).unwrap_or(Value::String(number.clone()))
            }
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Self::value).collect(),
            Data::Map(entries) => entries
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
            Format::Json,
            "{ \"a\": { \"b\": [1, true, \"é\", null,], }, } // end",
        )
        .unwrap();
        let yaml = parse(Format::Yaml, "a:\n  b: [1, true, é, null]\n").unwrap();
        assert_eq!(json, yaml);
        let toml = parse(Format::Toml, "[a]\nb = [1, true, 'é']").unwrap();
        let json = parse(Format::Json, r#"{"a": {"b": [1, true, "é"]}}"#).unwrap();
        assert_eq!(json, toml);
    }

    #[test]
    fn every_value_knows_where_it_stands() {
        for (format, text) in [
            (Format::Json, "{\"é\": {\n  \"port\": 80}}"),
            (Format::Toml, "# é\n[\"é\"]\nport = 80"),
            (Format::Yaml, "# é\né:\n  port: 80\n"),
        ] {
            let root = parse(format, text).unwrap();
            let (key, node) = root.get("é").unwrap().entry("port").unwrap();
            assert_eq!(&text[node.span.clone()], "80", "{format:?}");
            assert!(text[key.span.clone()].contains("port"), "{format:?}");
        }
    }

    #[test]
    fn what_is_misspelt_is_told_by_its_place_and_never_quoted() {
        for (format, text) in [
            (Format::Json, "{\n\"key\": \"s3cret\" \"x\"}"),
            (Format::Json, "{\n\"key\": s3cret}"),
            (Format::Toml, "a = 1\nkey = s3cret"),
            (Format::Toml, "a = 1\na = 's3cret'"),
            (Format::Yaml, "a: b\nkey: [s3cret"),
            (Format::Yaml, "a: b\na: *s3cret"),
        ] {
            let wrong = parse(format, text).unwrap_err();
            assert!(line(text, wrong.at) >= 2, "{format:?}: {wrong:?}");
            assert!(!wrong.message.contains("s3cret"), "{format:?}: {wrong:?}");
        }
    }
}
