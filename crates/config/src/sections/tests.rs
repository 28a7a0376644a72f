//! Compares the rows with the fields that serde reads: every field has a row, every row has a
//! field, and the field accepts exactly the row's type.

use serde::de::{self, Deserialize, Deserializer, Error as _, Visitor};

use super::agents::RawAgents;
use super::audit::RawAudit;
use super::catalog::{RawCatalog, RawEndpoint};
use super::code::RawCode;
use super::context::RawContext;
use super::import::RawImport;
use super::index::{RawExternalEmbedder, RawIndex};
use super::learning::RawLearning;
use super::lock::RawLock;
use super::models::{RawModelVendor, RawModels};
use super::oauth::RawOauth;
use super::policy::{RawRules, RawTenants};
use super::priors::RawPriors;
use super::provider::RawProvider;
use super::registry::RawRegistry;
use super::secrets::RawSecrets;
use super::serve::RawServe;
use super::server::RawServer;
use super::store::RawStore;
use super::surfaces::RawSurfaces;
use super::telemetry::RawTelemetry;
use super::tools::RawTool;
use super::web::{RawBrowser, RawWeb};
use super::*;
use crate::raw::{self, RawConfig};
use crate::rows::{KeyRow, KeyTable, TableLayout, ValueType};

type FieldNames = fn() -> &'static [&'static str];

const FIELDS: &[(&str, FieldNames)] = &[
    ("serve", fields_of::<RawServe>),
    ("store", fields_of::<RawStore>),
    ("secrets", fields_of::<RawSecrets>),
    ("audit", fields_of::<RawAudit>),
    ("priors", fields_of::<RawPriors>),
    ("learning", fields_of::<RawLearning>),
    ("index", fields_of::<RawIndex>),
    ("index.embedder", fields_of::<RawExternalEmbedder>),
    ("agents", fields_of::<RawAgents>),
    ("tools.\"NAME\"", fields_of::<RawTool>),
    ("catalog", fields_of::<RawCatalog>),
    ("endpoints.ID", fields_of::<RawEndpoint>),
    ("lock", fields_of::<RawLock>),
    ("context", fields_of::<RawContext>),
    ("web", fields_of::<RawWeb>),
    ("browser", fields_of::<RawBrowser>),
    ("surfaces", fields_of::<RawSurfaces>),
    ("code", fields_of::<RawCode>),
    ("models", fields_of::<RawModels>),
    ("models.anthropic", fields_of::<RawModelVendor>),
    ("models.openai", fields_of::<RawModelVendor>),
    ("telemetry", fields_of::<RawTelemetry>),
    ("registry", fields_of::<RawRegistry>),
    ("policy", fields_of::<RawRules>),
    ("tenants", fields_of::<RawTenants>),
    ("servers.NAME", fields_of::<RawServer>),
    ("servers.NAME.oauth", fields_of::<RawOauth>),
    ("providers.NAME", fields_of::<RawProvider>),
    ("import", fields_of::<RawImport>),
];

#[test]
fn every_section_that_is_read_has_a_row_and_every_row_is_read() {
    let sections: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
    assert_eq!(sections, fields_of::<RawConfig>());
}

#[test]
fn every_field_has_a_row_and_every_row_is_a_field() {
    let paths: Vec<_> = tables().map(|table| table.path).collect();
    let paired: Vec<_> = FIELDS.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, paired, "FIELDS names the fields of each table");
    for (table, (path, fields)) in tables().zip(FIELDS) {
        assert_eq!(table.key_names(), fields(), "[{path}]");
    }
}

#[test]
fn a_field_takes_the_type_in_its_row_and_no_other() {
    for table in tables() {
        for row in table.rows {
            for (type_name, value) in VALUES {
                let read = raw::parse_raw(&document(table, row, value));
                let accepted = row.value.takes(type_name);
                assert_eq!(
                    read.is_ok(),
                    accepted,
                    "{}.{} = {value}",
                    table.path,
                    row.name
                );
            }
        }
    }
}

/// A sample of each TOML type.
const VALUES: [(&str, &str); 8] = [
    ("text", "'x'"),
    ("whole number", "1"),
    ("fraction", "0.5"),
    ("flag", "true"),
    ("texts", "['x']"),
    ("numbers", "[1]"),
    ("texts by name", "{ NAME = 'x' }"),
    ("numbers by name", "{ NAME = 1 }"),
];

impl ValueType {
    fn takes(self, type_name: &str) -> bool {
        let taken: &[&str] = match self {
            Self::Text | Self::TextOrTable(_) => &["text"],
            Self::WholeNumber => &["whole number"],
            Self::Number => &["whole number", "fraction"],
            Self::Flag => &["flag"],
            Self::Duration => &["text", "whole number"],
            Self::Texts => &["texts"],
            Self::Pairs => &["texts by name"],
            Self::Values => &["texts by name", "numbers by name"],
            // No table has a key with the name in the samples.
            Self::Table(_) => &[],
        };
        taken.contains(&type_name)
    }
}

/// Writes one key as a whole document.
fn document(table: &KeyTable, row: &KeyRow, value: &str) -> String {
    format!("{}.{} = {value}", table.path, row.name)
}

#[test]
fn a_key_that_needs_a_restart_is_in_a_compared_section() {
    for table in tables() {
        let is_section = SECTIONS.iter().any(|section| section.name == table.path);
        let needs_restart = table.rows.iter().any(|row| row.restart.is_some());
        assert!(is_section || !needs_restart, "[{}]", table.path);
    }
}

/// Returns every table with rows, outer tables first.
pub(crate) fn tables() -> impl Iterator<Item = &'static KeyTable> {
    SECTIONS.iter().filter_map(own_table).flat_map(|table| {
        let inner = table.rows.iter().filter_map(|row| row.value.inner_table());
        std::iter::once(table).chain(inner)
    })
}

fn own_table(section: &SectionRow) -> Option<&'static KeyTable> {
    match section.layout {
        TableLayout::One(table) | TableLayout::Each(table) => Some(table),
        // The per-name table has the rows of another section.
        TableLayout::EachAndOwn { own, .. } => Some(own),
        TableLayout::Named => None,
    }
}

/// Returns the field names of `T` that serde asks for.
fn fields_of<T: Deserialize<'static>>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let refused = T::deserialize(FieldProbe(&mut fields));
    debug_assert!(refused.is_err(), "the probe hands out no values");
    fields
}

struct FieldProbe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldProbe<'_> {
    type Error = de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("only the fields were wanted"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not a table"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
