//! Parses TOML into the tree.

use toml_edit::{Document, Item, Table, TableLike, Value};

use super::{Key, Node, NodeData, SyntaxError};

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let document = Document::parse(text).map_err(|error| SyntaxError {
        at: error.span().map_or(0, |span| span.start),
        message: error.message().to_owned(),
    })?;
    Ok(Node {
        data: table(document.as_table()),
        span: 0..text.len(),
    })
}

fn table(table: &dyn TableLike) -> NodeData {
    let entries = table.iter();
    let entries = entries.map(|(name, item)| (key(table, name), node(item)));
    NodeData::Map(entries.collect())
}

fn key(table: &dyn TableLike, name: &str) -> Key {
    let span = table.key(name).and_then(toml_edit::Key::span);
    Key {
        text: name.to_owned(),
        span: span.unwrap_or_default(),
    }
}

fn node(item: &Item) -> Node {
    let data = match item {
        Item::None => NodeData::Null,
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => NodeData::List(tables.iter().map(table_node).collect()),
        Item::Value(inner) => value(inner),
    };
    Node {
        data,
        span: item.span().unwrap_or_default(),
    }
}

fn table_node(inner: &Table) -> Node {
    Node {
        data: table(inner),
        span: inner.span().unwrap_or_default(),
    }
}

fn value(value: &Value) -> NodeData {
    match value {
        Value::String(text) => NodeData::Text(text.value().clone()),
        Value::Integer(number) => NodeData::Number(number.value().to_string()),
        Value::Float(number) => NodeData::Number(number.value().to_string()),
        Value::Boolean(value) => NodeData::Bool(*value.value()),
        Value::Datetime(date) => NodeData::Text(date.value().to_string()),
        Value::Array(items) => NodeData::List(items.iter().map(element).collect()),
        Value::InlineTable(inner) => table(inner),
    }
}

fn element(item: &Value) -> Node {
    Node {
        data: value(item),
        span: item.span().unwrap_or_default(),
    }
}
