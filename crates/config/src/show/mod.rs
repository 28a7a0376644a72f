//! Shows the effective configuration, key by key, with the origin of each value.
//!
//! # Layout
//! - `mask`: masks the secret parts of a value
//! - [`text`]: renders entries as TOML

mod mask;
pub mod text;

use std::fmt;
use std::path::Path;

use kitbag_domain::toml_problem::line_number;
use serde::Serialize;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::Config;
use super::rows::{KeyRow, KeyTable, SectionRow, TableLayout};
use super::sections::SECTIONS;
use mask::Reference;

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The table that contains the key, such as `servers` and `git`.
    pub table: Vec<String>,
    /// The name of the key in that table. A key of an inner table has several parts.
    pub key: Vec<String>,
    /// The value, as far as it may be shown; `None` if there is neither a value nor a default.
    pub value: Option<Value>,
    pub origin: Origin,
    pub variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "lowercase")]
pub enum Origin {
    Default,
    File { line: usize },
    Variable { name: &'static str },
    Flag { name: &'static str },
}

/// A variable in a value. `set` is true if the variable itself has a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    pub name: String,
    pub set: bool,
    pub has_default: bool,
}

/// A value that takes precedence over the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The section, and the key in it.
    pub key: (&'static str, &'static str),
    pub value: Value,
    pub origin: Origin,
}

/// The sources of a configuration.
pub struct Sources<'a> {
    /// The text of the configuration file.
    pub text: &'a str,
    pub config: &'a Config,
    pub overrides: &'a [Override],
    /// Returns true if a variable has a value.
    pub is_set: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

/// Returns every known key, defaults included, in the order of the reference.
pub fn list_entries(sources: &Sources<'_>) -> Vec<Entry> {
    // A text that is not TOML was rejected before it became a configuration.
    let document = DeTable::parse(sources.text)
        .map(Spanned::into_inner)
        .unwrap_or_default();
    let mut walk = EntryWalk {
        sources,
        entries: Vec::new(),
    };
    for section in SECTIONS {
        let table = document
            .get(section.name)
            .and_then(|it| it.get_ref().as_table());
        walk.visit_section(section, table);
    }
    walk.entries
}

impl Entry {
    /// Returns the whole path of the key, quoted as in TOML.
    pub fn key_path(&self) -> String {
        text::dotted_path(self.table.iter().chain(&self.key))
    }

    pub fn is_default(&self) -> bool {
        self.origin == Origin::Default
    }
}

impl Origin {
    /// Describes the origin. `file` is the configuration file.
    pub fn describe(&self, file: Option<&Path>) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::File { line } => {
                let name = file
                    .and_then(Path::file_name)
                    .map(|name| name.display().to_string());
                format!("{}:{line}", name.unwrap_or_default())
            }
            Self::Variable { name } | Self::Flag { name } => (*name).to_owned(),
        }
    }
}

struct EntryWalk<'a> {
    sources: &'a Sources<'a>,
    entries: Vec<Entry>,
}

/// The path of a table: its section, and the path inside that section.
#[derive(Clone)]
struct KeyPath {
    table: Vec<String>,
    inside: Vec<String>,
}

impl<'a> EntryWalk<'a> {
    fn visit_section(&mut self, section: &SectionRow, table: Option<&DeTable<'_>>) {
        let table_path = KeyPath {
            table: vec![section.name.to_owned()],
            inside: Vec::new(),
        };
        match section.layout {
            TableLayout::One(known) => self.visit_table(known, &table_path, table),
            TableLayout::Each(known) => self.visit_each(known, &table_path, table, &[]),
            TableLayout::EachAndOwn { own, each } => {
                self.visit_table(own, &table_path, table);
                self.visit_each(each, &table_path, table, own.rows);
            }
            TableLayout::Named => table
                .into_iter()
                .for_each(|table| self.visit_pairs(&KeyRow::PLAIN, &table_path, table)),
        }
    }

    fn visit_each(
        &mut self,
        known: &KeyTable,
        section: &KeyPath,
        table: Option<&DeTable<'_>>,
        but: &[KeyRow],
    ) {
        let named = table
            .into_iter()
            .flatten()
            .filter(|(name, _)| but.iter().all(|row| row.name != name.get_ref()));
        for (name, written) in named {
            let table_path = section.table_named(name.get_ref());
            self.visit_table(known, &table_path, written.get_ref().as_table());
        }
    }

    fn visit_table(&mut self, known: &KeyTable, table_path: &KeyPath, table: Option<&DeTable<'_>>) {
        // A value from outside the file determines the alternative, whatever the file says.
        let mut alternatives = known.alternatives.iter();
        let given = alternatives.find(|it| self.find_override(table_path, it.key).is_some());
        let alternative = given.or_else(|| {
            known.chosen_alternative(|key| table.is_some_and(|it| it.contains_key(key)))
        });
        let rows = known.rows.iter();
        for row in rows.filter(|row| row.applies_to(alternative)) {
            let given = self.find_override(table_path, row.name);
            match (given, table.and_then(|table| table.get(row.name))) {
                (Some(Override { value, origin, .. }), _) => {
                    let value = Some(value.clone());
                    self.push_entry(table_path, row.name, value, origin.clone(), Vec::new());
                }
                (None, Some(written)) => self.visit_key(row, table_path, written),
                (None, None) => {
                    let default = row.default.to_value(self.sources.config);
                    self.push_entry(table_path, row.name, default, Origin::Default, Vec::new());
                }
            }
        }
    }

    fn visit_key(&mut self, row: &KeyRow, table_path: &KeyPath, written: &Spanned<DeValue<'_>>) {
        match (written.get_ref(), row.value.inner_table()) {
            (DeValue::Table(inner), _) if inner.is_empty() => {
                self.push_written(row, table_path, row.name, written);
            }
            (DeValue::Table(inner), Some(known)) => {
                self.visit_table(known, &table_path.inner_key(row.name), Some(inner));
            }
            (DeValue::Table(inner), None) => {
                self.visit_pairs(row, &table_path.inner_key(row.name), inner);
            }
            _ => self.push_written(row, table_path, row.name, written),
        }
    }

    fn visit_pairs(&mut self, row: &KeyRow, table_path: &KeyPath, table: &DeTable<'_>) {
        for (key, written) in table {
            self.push_written(row, table_path, key.get_ref(), written);
        }
    }

    fn push_written(
        &mut self,
        row: &KeyRow,
        table_path: &KeyPath,
        key: &str,
        written: &Spanned<DeValue<'_>>,
    ) {
        let text = self.sources.text;
        let value = match written.get_ref() {
            // The table is empty. The text of its header is not a value.
            DeValue::Table(_) => Value::Table(toml::Table::new()),
            _ => text
                .get(written.span())
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(mask::masked_placeholder),
        };
        let origin = Origin::File {
            line: line_number(text, written.span().start),
        };
        let variables = self.list_variables(row, &value);
        let value = Some(mask::mask_value(value, row.secrecy));
        self.push_entry(table_path, key, value, origin, variables);
    }

    fn list_variables(&self, row: &KeyRow, value: &Value) -> Vec<Variable> {
        if !row.fills_variables {
            return Vec::new();
        }
        mask::find_references(value)
            .into_iter()
            .map(|Reference { name, has_default }| Variable {
                set: (self.sources.is_set)(&name),
                has_default,
                name,
            })
            .collect()
    }

    fn find_override(&self, table_path: &KeyPath, key: &str) -> Option<&'a Override> {
        let mut given = self.sources.overrides.iter();
        given.find(|it| table_path.table == [it.key.0] && it.key.1 == key)
    }

    fn push_entry(
        &mut self,
        table_path: &KeyPath,
        key: &str,
        value: Option<Value>,
        origin: Origin,
        variables: Vec<Variable>,
    ) {
        let KeyPath { table, inside: key } = table_path.inner_key(key);
        self.entries.push(Entry {
            table,
            key,
            value,
            origin,
            variables,
        });
    }
}

impl KeyPath {
    /// Returns the path of a table whose name the user chose.
    fn table_named(&self, name: &str) -> Self {
        Self {
            table: [&self.table[..], &[name.to_owned()]].concat(),
            inside: Vec::new(),
        }
    }

    fn inner_key(&self, key: &str) -> Self {
        Self {
            table: self.table.clone(),
            inside: [&self.inside[..], &[key.to_owned()]].concat(),
        }
    }
}

#[cfg(test)]
mod tests;
