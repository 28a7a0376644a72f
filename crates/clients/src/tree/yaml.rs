//! Parses YAML into the tree.

use std::ops::Range;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};

use super::{Key, Node, NodeData, SyntaxError};

/// Parses the first document of a text.
pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let offsets = ByteOffsets::new(text);
    let documents = MarkedYaml::load_from_str(text).map_err(|error| SyntaxError {
        at: offsets.byte(error.marker().index()),
        message: drop_quoted_text(error.info()),
    })?;
    Ok(match documents.first() {
        Some(document) => offsets.node(document),
        None => Node::empty(text),
    })
}

/// Truncates a message at the first colon or quote, since the rest may quote the file.
fn drop_quoted_text(message: &str) -> String {
    let start = message.split([':', '"', '\'', '`']).next();
    start.unwrap_or_default().trim().to_owned()
}

/// Converts the scanner's character positions into byte positions.
struct ByteOffsets {
    bytes: Vec<usize>,
    end: usize,
}

impl ByteOffsets {
    fn new(text: &str) -> Self {
        Self {
            bytes: text.char_indices().map(|(byte, _)| byte).collect(),
            end: text.len(),
        }
    }

    fn byte(&self, index: usize) -> usize {
        self.bytes.get(index).copied().unwrap_or(self.end)
    }

    fn span(&self, node: &MarkedYaml<'_>) -> Range<usize> {
        self.byte(node.span.start.index())..self.byte(node.span.end.index())
    }

    fn node(&self, node: &MarkedYaml<'_>) -> Node {
        let span = self.span(node);
        match &node.data {
            YamlData::Tagged(_, inner) => Node {
                span,
                ..self.node(inner)
            },
            data => Node {
                data: self.data(data),
                span,
            },
        }
    }

    fn data<'a>(&self, data: &YamlData<'a, MarkedYaml<'a>>) -> NodeData {
        match data {
            YamlData::Value(value) => scalar(value),
            YamlData::Representation(text, ..) => NodeData::Text(text.clone().into_owned()),
            YamlData::Sequence(items) => {
                NodeData::List(items.iter().map(|item| self.node(item)).collect())
            }
            YamlData::Mapping(entries) => NodeData::Map(
                entries
                    .iter()
                    .map(|(key, value)| (self.key(key), self.node(value)))
                    .collect(),
            ),
            YamlData::Tagged(..) | YamlData::Alias(_) | YamlData::BadValue => NodeData::Null,
        }
    }

    fn key(&self, key: &MarkedYaml<'_>) -> Key {
        let text = match self.node(key).data {
            NodeData::Text(text) | NodeData::Number(text) => text,
            NodeData::Bool(value) => value.to_string(),
            _ => String::new(),
        };
        Key {
            text,
            span: self.span(key),
        }
    }
}

fn scalar(scalar: &Scalar<'_>) -> NodeData {
    match scalar {
        Scalar::Null => NodeData::Null,
        Scalar::Boolean(value) => NodeData::Bool(*value),
        Scalar::Integer(number) => NodeData::Number(number.to_string()),
        Scalar::FloatingPoint(number) => NodeData::Number(number.to_string()),
        Scalar::String(text) => NodeData::Text(text.clone().into_owned()),
    }
}
