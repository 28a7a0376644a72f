//! The edits this process made to configuration files, for the audit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use kitbag_domain::sync::lock;
use toml_edit::DocumentMut;

/// A changed file and its changed tables, such as `added servers.git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: PathBuf,
    pub changes: Vec<String>,
}

/// Every command writes through [`crate::edit::write_file`], so the audit misses no edit.
static EDITS: Mutex<Vec<Edit>> = Mutex::new(Vec::new());

pub(crate) fn record_edit(path: &Path, before: &str, after: &str) {
    lock(&EDITS).push(Edit {
        path: path.to_owned(),
        changes: diff_tables(before, after),
    });
}

/// Returns the edits since the last call.
pub fn take_edits() -> Vec<Edit> {
    std::mem::take(&mut *lock(&EDITS))
}

/// Returns the tables that differ. A section with one table per name is compared name by name.
pub(crate) fn diff_tables(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (table_texts(before), table_texts(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let verb = change_verb(before.get(name), after.get(name))?;
        Some(format!("{verb} {name}"))
    });
    changed.collect()
}

fn change_verb(before: Option<&String>, after: Option<&String>) -> Option<&'static str> {
    match (before, after) {
        (None, Some(_)) => Some("added"),
        (Some(_), None) => Some("removed"),
        (Some(was), Some(is)) if was != is => Some("changed"),
        _ => None,
    }
}

/// Returns the text of each table by name.
fn table_texts(text: &str) -> BTreeMap<String, String> {
    let document = text.parse::<DocumentMut>().unwrap_or_default();
    let mut tables = BTreeMap::new();
    for (section, item) in document.iter() {
        let inner = item
            .as_table_like()
            .filter(|table| table.iter().all(|(_, item)| item.is_table_like()));
        match inner.filter(|table| !table.is_empty()) {
            Some(table) => tables.extend(
                table
                    .iter()
                    .map(|(name, item)| (format!("{section}.{name}"), item.to_string())),
            ),
            None => drop(tables.insert(section.to_owned(), item.to_string())),
        }
    }
    tables
}
