//! Shows the configuration in force, key by key, each with the origin of its value.
//!
//! # Layout
//! - `kinds`: the known keys, and the values of keys that are not set
//! - `veil`: hides the secret parts of a value
//! - [`text`]: writes entries as TOML that a person can read and copy

mod kinds;
pub mod text;
mod veil;

use std::fmt;
use std::path::Path;

use serde::Serialize;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::Config;
use super::error::line_at;
use super::keys::keys_of;
use super::raw::RawConfig;
use kinds::{Fallback, Kind, Nature, Shape, shape};
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
    for section in keys_of::<RawConfig>() {
        walk.section(
            section,
            document
                .get(*section)
                .and_then(|it| it.get_ref().as_table()),
        );
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
    fn section(&mut self, section: &str, table: Option<&DeTable<'_>>) {
        let place = Place {
            table: vec![section.to_owned()],
            inside: Vec::new(),
        };
        match shape(section) {
            Some(Shape::One(kind)) => self.table(kind, &place, table),
            Some(Shape::Each(kind)) => self.each(kind, section, table, &[]),
            Some(Shape::EachBeside { own, each }) => {
                self.table(own, &place, table);
                self.each(each, section, table, own.keys());
            }
            Some(Shape::Named) | None => {
                table
                    .into_iter()
                    .for_each(|table| self.pairs(&place, table, Nature::PLAIN));
            }
        }
    }

    fn each(&mut self, kind: Kind, section: &str, table: Option<&DeTable<'_>>, but: &[&str]) {
        let named = table
            .into_iter()
            .flatten()
            .filter(|(name, _)| !but.contains(&name.get_ref().as_ref()));
        for (name, written) in named {
            let table = vec![section.to_owned(), name.get_ref().to_string()];
            self.table(
                kind,
                &Place {
                    table,
                    inside: Vec::new(),
                },
                written.get_ref().as_table(),
            );
        }
    }

    fn table(&mut self, kind: Kind, place: &Place, table: Option<&DeTable<'_>>) {
        for key in kind
            .keys()
            .iter()
            .filter(|key| !kind.is_foreign(key, table))
        {
            if self.given(place, key) {
                continue;
            }
            let Some(written) = table.and_then(|table| table.get(*key)) else {
                self.fallback(kind, place, key);
                continue;
            };
            match written.get_ref() {
                DeValue::Table(inner) if !inner.is_empty() => match kind.inner(key) {
                    Some(kind) => self.table(kind, &place.inside(key), Some(inner)),
                    None => self.pairs(&place.inside(key), inner, kind.nature(key)),
                },
                _ => self.written(place, key, written, kind.nature(key)),
            }
        }
    }

    fn pairs(&mut self, place: &Place, table: &DeTable<'_>, nature: Nature) {
        for (key, written) in table {
            self.written(place, key.get_ref(), written, nature);
        }
    }

    fn written(
        &mut self,
        place: &Place,
        key: &str,
        written: &Spanned<DeValue<'_>>,
        nature: Nature,
    ) {
        let text = self.sources.text;
        let value = match written.get_ref() {
            // The table is empty. The text of its header is not a value.
            DeValue::Table(_) => Value::Table(toml::Table::new()),
            _ => text
                .get(written.span())
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(veil::unseen),
        };
        let found = if nature.is_template {
            veil::references(&value)
        } else {
            Vec::new()
        };
        let is_set = self.sources.is_set;
        let variable = |Reference { name, has_default }| Variable {
            set: is_set(&name),
            has_default,
            name,
        };
        let variables = found.into_iter().map(variable).collect();
        let origin = Origin::File {
            line: line_at(text, written.span().start),
        };
        let value = Some(veil::veiled(value, nature.secrecy));
        self.push(
            place,
            key,
            Entry {
                value,
                variables,
                ..Entry::from(origin)
            },
        );
    }

    fn fallback(&mut self, kind: Kind, place: &Place, key: &str) {
        let value = match kind.fallback(key, self.sources.config) {
            Some(Fallback::Value(value)) => Some(value),
            Some(Fallback::Nothing) | None => None,
        };
        self.push(
            place,
            key,
            Entry {
                value,
                ..Entry::from(Origin::Default)
            },
        );
    }

    fn given(&mut self, place: &Place, key: &str) -> bool {
        let found = self
            .sources
            .given
            .iter()
            .find(|it| place.table == [it.key.0] && it.key.1 == key);
        if let Some(Given { value, origin, .. }) = found {
            self.push(
                place,
                key,
                Entry {
                    value: Some(value.clone()),
                    ..Entry::from(origin.clone())
                },
            );
        }
        found.is_some()
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
