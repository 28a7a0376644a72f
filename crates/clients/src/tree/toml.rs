//! TOML into the tree.

use toml_edit::{Document, Item, TableLike, Value};

use super::{Data, Key, Misspelt, Node};

pub(super) fn parse(text: &str) -> Result<Node, Misspelt> {
    let document = Document::parse(text).map_err(|error| Misspelt {
        at: error.span().map_or(0, |span| span.start),
        message: error.message().to_owned(),
    })?;
    Ok(Node {
        data: table(document.as_table()),
        span: 0..text.len(),
    })
}

fn table(table: &dyn TableLike) -> Data {
    let entries = table.iter().map(|(name, item)| {
        let span = table
            .key(name)
            .and_then(toml_edit::Key::span)
            .unwrap_or_default();
        (
            Key {
                text: name.to_owned(),
                span,
            },
            node(item),
        )
    });
    Data::Map(entries.collect())
}

fn node(item: &Item) -> Node {
    let data = match item {
        Item::None => Data::Null,
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => Data::List(
            tables
                .iter()
                .map(|inner| Node {
                    data: table(inner),
                    span: inner.span().unwrap_or_default(),
                })
                .collect(),
        ),
        Item::Value(inner) => value(inner),
    };
    Node {
        data,
        span: item.span().unwrap_or_default(),
    }
}

fn value(value: &Value) -> Data {
    match value {
        Value::String(text) => Data::Text(text.value().clone()),
        Value::Integer(number) => Data::Number(number.value().to_string()),
        Value::Float(number) => Data::Number(number.value().to_string()),
        Value::Boolean(it) => Data::Bool(*it.value()),
        Value::Datetime(date) => Data::Text(date.value().to_string()),
        Value::Array(items) => Data::List(items.iter().map(element).collect()),
        Value::InlineTable(inner) => table(inner),
    }
}

fn element(item: &Value) -> Node {
    Node {
        data: value(item),
        span: item.span().unwrap_or_default(),
    }
}
