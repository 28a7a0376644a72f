//! Edits of TOML with its comments and order.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::EditError;
use crate::tree;

pub(super) fn add(
    text: &str,
    keys: &[&str],
    name: &str,
    server: &Value,
) -> Result<String, EditError> {
    edit(text, |document| {
        let section = walk(document, keys)?;
        let table = table(server)?;
        let item = match section.get(name) {
            None if is_inline(section) => value(table.into_inline_table()),
            Some(Item::Value(_)) => value(table.into_inline_table()),
            _ => Item::Table(table),
        };
        section.insert(name, item);
        Ok(())
    })
}

pub(super) fn remove(text: &str, keys: &[&str], name: &str) -> Result<String, EditError> {
    edit(text, |document| {
        walk(document, keys)?.remove(name);
        Ok(())
    })
}

pub(super) fn switch(
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    on: bool,
) -> Result<String, EditError> {
    edit(text, |document| {
        let server = walk(document, keys)?
            .get_mut(name)
            .and_then(Item::as_table_like_mut);
        let server = server.ok_or(EditError::Entangled)?;
        match server.get_mut(key) {
            Some(Item::Value(there)) => {
                let decor = there.decor().clone();
                *there = on.into();
                *there.decor_mut() = decor;
            }
            _ => drop(server.insert(key, value(on))),
        }
        Ok(())
    })
}

fn edit(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let plain = text.replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        EditError::Misspelt {
            line: tree::line(&plain, at),
            message: error.message().to_owned(),
        }
    })?;
    change(&mut document)?;
    Ok(with_line_ends_of(text, &document.to_string()))
}

/// The library ends every line in its own way. Lines from the begin and the end that are as before
/// get back how they ended; those between end as the first line does.
fn with_line_ends_of(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let same = |(old, new): &(&&str, &&str)| {
        let ends = old.ends_with('\n') == new.ends_with('\n');
        ends && old.trim_end_matches(['\r', '\n']) == new.trim_end_matches('\n')
    };
    let head = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(same)
        .count();
    let end = if old.first().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let between = new[head..new.len() - tail]
        .iter()
        .map(|line| line.replace('\n', end));
    let kept = |lines: &[&str]| lines.concat();
    format!(
        "{}{}{}",
        kept(&old[..head]),
        between.collect::<String>(),
        kept(&old[old.len() - tail..])
    )
}

fn walk<'a>(
    document: &'a mut DocumentMut,
    keys: &[&str],
) -> Result<&'a mut dyn TableLike, EditError> {
    let wrong = || EditError::NotATable {
        key: keys.join("."),
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in keys {
        let item = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item.as_table_like_mut().ok_or_else(wrong)?;
    }
    Ok(table)
}

fn is_inline(table: &dyn TableLike) -> bool {
    let inline = |(_, item): (&str, &Item)| item.is_value();
    !table.is_empty() && table.iter().all(inline)
}

fn table(server: &Value) -> Result<Table, EditError> {
    let entries = server.as_object().ok_or(EditError::Entangled)?;
    entries
        .iter()
        .map(|(key, entry)| Ok((key.clone(), value(plain(entry)?))))
        .collect::<Result<_, _>>()
}

fn plain(entry: &Value) -> Result<toml_edit::Value, EditError> {
    Ok(match entry {
        Value::Bool(it) => (*it).into(),
        Value::String(text) => text.into(),
        Value::Number(number) => number.as_i64().ok_or(EditError::Entangled)?.into(),
        Value::Array(items) => items
            .iter()
            .map(plain)
            .collect::<Result<Array, _>>()?
            .into(),
        Value::Object(entries) => {
            let pairs = entries
                .iter()
                .map(|(key, entry)| Ok((key.clone(), plain(entry)?)));
            pairs.collect::<Result<InlineTable, EditError>>()?.into()
        }
        Value::Null => return Err(EditError::Entangled),
    })
}
