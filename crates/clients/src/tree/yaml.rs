//! YAML into the tree.

use std::ops::Range;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, YamlData};

use super::{Data, Key, Misspelt, Node};

/// Of several documents in a file the first counts.
pub(super) fn parse(text: &str) -> Result<Node, Misspelt> {
    let places = Places::of(text);
    let documents = MarkedYaml::load_from_str(text).map_err(|error| Misspelt {
        at: places.byte(error.marker().index()),
        message: unquoted(error.info()),
    })?;
    let empty = || Node {
        data: Data::Map(Vec::new()),
        span: 0..text.len(),
    };
    Ok(documents
        .first()
        .map_or_else(empty, |document| places.node(document)))
}

/// What follows a colon or a quote may be taken from the file.
fn unquoted(message: &str) -> String {
    message
        .split([':', '"', '\'', '`'])
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The scanner counts characters, we count bytes.
struct Places {
    bytes: Vec<usize>,
    end: usize,
}

impl Places {
    fn of(text: &str) -> Self {
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

    fn data<'a>(&self, data: &YamlData<'a, MarkedYaml<'a>>) -> Data {
        match data {
            YamlData::Value(scalar) => match scalar {
                Scalar::Null => Data::Null,
                Scalar::Boolean(value) => Data::Bool(*value),
                Scalar::Integer(number) => Data::Number(number.to_string()),
                Scalar::FloatingPoint(number) => Data::Number(number.to_string()),
                Scalar::String(text) => Data::Text(text.clone().into_owned()),
            },
            YamlData::Representation(text, ..) => Data::Text(text.clone().into_owned()),
            YamlData::Sequence(items) => {
                Data::List(items.iter().map(|item| self.node(item)).collect())
            }
            YamlData::Mapping(entries) => Data::Map(
                entries
                    .iter()
                    .map(|(key, value)| (self.key(key), self.node(value)))
                    .collect(),
            ),
            YamlData::Tagged(..) | YamlData::Alias(_) | YamlData::BadValue => Data::Null,
        }
    }

    fn key(&self, key: &MarkedYaml<'_>) -> Key {
        let text = match self.node(key).data {
            Data::Text(text) | Data::Number(text) => text,
            Data::Bool(value) => value.to_string(),
            _ => String::new(),
        };
        Key {
            text,
            span: self.span(key),
        }
    }
}
