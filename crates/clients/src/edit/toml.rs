//! Edits of TOML that preserve comments and order.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, value};

use super::FileEditError;
use crate::tree;

pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    server: &Value,
) -> Result<String, FileEditError> {
    edit(text, |document| {
        let section = find_table(document, keys)?;
        let table = table(server)?;
        // Written as an inline table if the other servers are.
        let inline = match section.get(name) {
            Some(there) => there.is_value(),
            None => is_inline(section),
        };
        let item = if inline {
            value(table.into_inline_table())
        } else {
            Item::Table(table)
        };
        section.insert(name, item);
        Ok(())
    })
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, FileEditError> {
    edit(text, |document| {
        find_table(document, keys)?.remove(name);
        Ok(())
    })
}

pub(super) fn set_switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    on: bool,
) -> Result<String, FileEditError> {
    edit(text, |document| {
        let server = find_table(document, keys)?.get_mut(name);
        let server = server.and_then(Item::as_table_like_mut);
        set(server.ok_or(FileEditError::Entangled)?, key, on);
        Ok(())
    })
}

/// Keeps the whitespace and the comment around an existing value.
fn set(table: &mut dyn TableLike, key: &str, on: bool) {
    match table.get_mut(key) {
        Some(Item::Value(there)) => {
            let decor = there.decor().clone();
            *there = on.into();
            *there.decor_mut() = decor;
        }
        _ => drop(table.insert(key, value(on))),
    }
}

fn edit(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), FileEditError>,
) -> Result<String, FileEditError> {
    let plain = text.replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().map_err(|error: TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        FileEditError::Syntax {
            line: tree::line(&plain, at),
            message: error.message().to_owned(),
        }
    })?;
    change(&mut document)?;
    Ok(with_line_ends_of(text, &document.to_string()))
}

/// The library rewrites all line endings. Unchanged lines at the start and end get their former
/// endings again; the lines between get the ending of the first line.
fn with_line_ends_of(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let head = count_same(old.iter().zip(&new));
    let rest = old.len().min(new.len()) - head;
    let tail = count_same(old.iter().rev().zip(new.iter().rev()).take(rest));
    let crlf = old.first().is_some_and(|line| line.ends_with("\r\n"));
    let mut between = new[head..new.len() - tail].concat();
    if crlf {
        between = between.replace('\n', "\r\n");
    }
    let (start, end) = (old[..head].concat(), old[old.len() - tail..].concat());
    format!("{start}{between}{end}")
}

fn count_same<'l>(lines: impl Iterator<Item = (&'l &'l str, &'l &'l str)>) -> usize {
    lines.take_while(|(old, new)| is_same(old, new)).count()
}

fn is_same(old: &str, new: &str) -> bool {
    let ends = old.ends_with('\n') == new.ends_with('\n');
    ends && old.trim_end_matches(['\r', '\n']) == new.trim_end_matches('\n')
}

fn find_table<'a>(
    document: &'a mut DocumentMut,
    keys: &[&str],
) -> Result<&'a mut dyn TableLike, FileEditError> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in keys {
        let item = table.entry(key).or_insert_with(implicit_table);
        let inner = item.as_table_like_mut();
        table = inner.ok_or_else(|| FileEditError::not_a_table(keys))?;
    }
    Ok(table)
}

/// A table whose header is only written once it has values of its own.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn is_inline(table: &dyn TableLike) -> bool {
    !table.is_empty() && table.iter().all(|(_, item)| item.is_value())
}

fn table(server: &Value) -> Result<Table, FileEditError> {
    let entries = server.as_object().ok_or(FileEditError::Entangled)?;
    let entries = entries.iter();
    entries
        .map(|(key, entry)| Ok((key.clone(), value(to_toml_value(entry)?))))
        .collect()
}

fn to_toml_value(entry: &Value) -> Result<toml_edit::Value, FileEditError> {
    Ok(match entry {
        Value::Bool(value) => (*value).into(),
        Value::String(text) => text.into(),
        Value::Number(number) => number.as_i64().ok_or(FileEditError::Entangled)?.into(),
        Value::Array(items) => items
            .iter()
            .map(to_toml_value)
            .collect::<Result<Array, _>>()?
            .into(),
        Value::Object(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, entry)| Ok((key.clone(), to_toml_value(entry)?)));
            pairs
                .collect::<Result<InlineTable, FileEditError>>()?
                .into()
        }
        Value::Null => return Err(FileEditError::Entangled),
    })
}
