//! Shows the configuration in force, key by key, each with the origin of its value.
//!
//! # Layout
//! - `veil`: hides the secret parts of a value
//! - [`text`]: writes entries as TOML that a person can read and copy

pub mod text;
mod veil;

use std::fmt;
use std::path::Path;

use serde::Serialize;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::Config;
use super::error::line_at;
use super::rows::{Alternative, Fallback, KeyRow, KeyTable, SectionRow, TableLayout};
use super::sections::SECTIONS;
use veil::Reference;

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The table that contains the key, such as `servers` and `git`.
    pub table: Vec<String>,
    /// The name of the key there. A key of an inner table has more than one word.
    pub key: Vec<String>,
    /// The value, as far as it may be shown; absent if there is neither a value nor a default.
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

/// A variable in a value. `set` is true if the variable has a value of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    pub name: String,
    pub set: bool,
    pub has_default: bool,
}

/// A value that takes precedence over the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The section, and the key in it.
    pub key: (&'static str, &'static str),
    pub value: Value,
    pub origin: Origin,
}

/// The sources of a configuration.
pub struct Sources<'a> {
    /// The text of the file that the configuration was read from.
    pub text: &'a str,
    pub config: &'a Config,
    pub given: &'a [Given],
    /// Returns true if a variable has a value.
    pub is_set: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

/// Returns every known key, defaults included, in the order of the reference.
pub fn entries(sources: &Sources<'_>) -> Vec<Entry> {
    // A text that is not TOML was refused before it became a configuration.
    let document = DeTable::parse(sources.text)
        .map(Spanned::into_inner)
        .unwrap_or_default();
    let mut walk = Walk {
        sources,
        entries: Vec::new(),
    };
    for section in SECTIONS {
        let table = document
            .get(section.name)
            .and_then(|it| it.get_ref().as_table());
        walk.section(section, table);
    }
    walk.entries
}

impl Entry {
    /// Returns the whole path of the key, spelt as TOML spells it.
    pub fn path(&self) -> String {
        text::dotted(self.table.iter().chain(&self.key))
    }

    pub fn is_default(&self) -> bool {
        self.origin == Origin::Default
    }
}

impl Origin {
    /// Names the origin in a few words. `file` is the path that the configuration was read from.
    pub fn told(&self, file: Option<&Path>) -> String {
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

struct Walk<'a> {
    sources: &'a Sources<'a>,
    entries: Vec<Entry>,
}

/// The place of a table: its section, and the path inside that section.
#[derive(Clone)]
struct Place {
    table: Vec<String>,
    inside: Vec<String>,
}

impl Walk<'_> {
    fn section(&mut self, section: &SectionRow, table: Option<&DeTable<'_>>) {
        let place = Place {
            table: vec![section.name.to_owned()],
            inside: Vec::new(),
        };
        match section.layout {
            TableLayout::One(known) => self.table(known, &place, table),
            TableLayout::Each(known) => self.each(known, &place, table, &[]),
            TableLayout::EachBeside { own, each } => {
                self.table(own, &place, table);
                self.each(each, &place, table, own.rows);
            }
            TableLayout::Named => table
                .into_iter()
                .for_each(|table| self.pairs(&KeyRow::PLAIN, &place, table)),
        }
    }

    fn each(
        &mut self,
        known: &KeyTable,
        section: &Place,
        table: Option<&DeTable<'_>>,
        but: &[KeyRow],
    ) {
        let named = table
            .into_iter()
            .flatten()
            .filter(|(name, _)| but.iter().all(|row| row.name != name.get_ref()));
        for (name, written) in named {
            let place = section.named(name.get_ref());
            self.table(known, &place, written.get_ref().as_table());
        }
    }

    fn table(&mut self, known: &KeyTable, place: &Place, table: Option<&DeTable<'_>>) {
        let alternative = self.alternative(known, place, table);
        let rows = known.rows.iter();
        for row in rows.filter(|row| row.has_meaning_for(alternative)) {
            if self.given(place, row.name) {
                continue;
            }
            match table.and_then(|table| table.get(row.name)) {
                Some(written) => self.key(row, place, written),
                None => self.fallback(row, place),
            }
        }
    }

    /// A value that was given outside the file chooses the alternative, whatever the file says.
    fn alternative(
        &self,
        known: &KeyTable,
        place: &Place,
        table: Option<&DeTable<'_>>,
    ) -> Option<&'static Alternative> {
        let mut all = known.alternatives.iter();
        let given = all.find(|it| self.given_value(place, it.key).is_some());
        given.or_else(|| known.alternative(|key| table.is_some_and(|it| it.contains_key(key))))
    }

    fn key(&mut self, row: &KeyRow, place: &Place, written: &Spanned<DeValue<'_>>) {
        match (written.get_ref(), row.value.table()) {
            (DeValue::Table(inner), _) if inner.is_empty() => {
                self.written(row, place, row.name, written);
            }
            (DeValue::Table(inner), Some(known)) => {
                self.table(known, &place.inside(row.name), Some(inner));
            }
            (DeValue::Table(inner), None) => self.pairs(row, &place.inside(row.name), inner),
            _ => self.written(row, place, row.name, written),
        }
    }

    fn pairs(&mut self, row: &KeyRow, place: &Place, table: &DeTable<'_>) {
        for (key, written) in table {
            self.written(row, place, key.get_ref(), written);
        }
    }

    fn written(&mut self, row: &KeyRow, place: &Place, key: &str, written: &Spanned<DeValue<'_>>) {
        let text = self.sources.text;
        let value = match written.get_ref() {
            // The table is empty. The text of its header is not a value.
            DeValue::Table(_) => Value::Table(toml::Table::new()),
            _ => text
                .get(written.span())
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(veil::unseen),
        };
        let origin = Origin::File {
            line: line_at(text, written.span().start),
        };
        let entry = Entry {
            variables: self.variables(row, &value),
            value: Some(veil::veiled(value, row.secrecy)),
            ..Entry::from(origin)
        };
        self.push(place, key, entry);
    }

    fn variables(&self, row: &KeyRow, value: &Value) -> Vec<Variable> {
        if !row.fills_variables {
            return Vec::new();
        }
        veil::references(value)
            .into_iter()
            .map(|Reference { name, has_default }| Variable {
                set: (self.sources.is_set)(&name),
                has_default,
                name,
            })
            .collect()
    }

    fn fallback(&mut self, row: &KeyRow, place: &Place) {
        let value = match row.default {
            Fallback::Value(value) => Some(value()),
            Fallback::OfMachine(value, _) => Some(value(self.sources.config)),
            Fallback::Unset(_) => None,
        };
        let entry = Entry {
            value,
            ..Entry::from(Origin::Default)
        };
        self.push(place, row.name, entry);
    }

    fn given(&mut self, place: &Place, key: &str) -> bool {
        let Some(Given { value, origin, .. }) = self.given_value(place, key) else {
            return false;
        };
        let entry = Entry {
            value: Some(value.clone()),
            ..Entry::from(origin.clone())
        };
        self.push(place, key, entry);
        true
    }

    fn given_value(&self, place: &Place, key: &str) -> Option<&Given> {
        let mut given = self.sources.given.iter();
        given.find(|it| place.table == [it.key.0] && it.key.1 == key)
    }

    fn push(&mut self, place: &Place, key: &str, entry: Entry) {
        let Place { table, inside: key } = place.inside(key);
        self.entries.push(Entry {
            table,
            key,
            ..entry
        });
    }
}

impl Place {
    /// Returns the place of a table whose name the person chose.
    fn named(&self, name: &str) -> Self {
        let table = self.table.iter().cloned().chain([name.to_owned()]);
        Self {
            table: table.collect(),
            inside: Vec::new(),
        }
    }

    fn inside(&self, key: &str) -> Self {
        let inside = self
            .inside
            .iter()
            .cloned()
            .chain([key.to_owned()])
            .collect();
        Self {
            table: self.table.clone(),
            inside,
        }
    }
}

impl From<Origin> for Entry {
    fn from(origin: Origin) -> Self {
        Self {
            table: Vec::new(),
            key: Vec::new(),
            value: None,
            origin,
            variables: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
