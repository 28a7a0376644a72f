//! Lists the known keys. An unknown key is refused, and the error names the nearest known one.

use serde::de::{self, Deserialize, Deserializer, Error as _, Visitor};
use toml::de::{DeTable, DeValue};

use super::error::{Fault, Problem};
use super::raw::{
    RawAgents, RawAudit, RawConfig, RawElsewhere, RawImport, RawIndex, RawOauth, RawProvider,
    RawRegistry, RawRules, RawSecrets, RawServe, RawServer, RawStore, RawSurfaces, RawTelemetry,
    RawTool,
};

pub(super) fn check(document: &DeTable<'_>) -> Result<(), Fault> {
    check_table::<RawConfig>(document, "")?;
    check_section::<RawServe>(document, "serve")?;
    check_section::<RawStore>(document, "store")?;
    check_section::<RawSecrets>(document, "secrets")?;
    check_section::<RawAudit>(document, "audit")?;
    check_section::<RawIndex>(document, "index")?;
    check_section::<RawAgents>(document, "agents")?;
    if let Some(embedder) =
        inner_table(document, "index").and_then(|it| inner_table(it, "embedder"))
    {
        check_table::<RawElsewhere>(embedder, "index.embedder")?;
    }
    check_each::<RawTool>(document, "tools")?;
    check_section::<RawSurfaces>(document, "surfaces")?;
    check_section::<RawTelemetry>(document, "telemetry")?;
    check_section::<RawRegistry>(document, "registry")?;
    check_section::<RawRules>(document, "policy")?;
    check_each::<RawRules>(document, "tenants")?;
    check_each::<RawServer>(document, "servers")?;
    for (name, server) in inner_table(document, "servers").into_iter().flatten() {
        if let Some(oauth) = server
            .get_ref()
            .as_table()
            .and_then(|it| inner_table(it, "oauth"))
        {
            check_table::<RawOauth>(oauth, &format!("servers.{}.oauth", name.get_ref()))?;
        }
    }
    check_each::<RawProvider>(document, "providers")?;
    check_section::<RawImport>(document, "import")
}

/// Returns the candidate that the person most probably meant, if one is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE_ENOUGH: f64 = 0.75;
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&word.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(similarity, _)| *similarity >= CLOSE_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

fn check_section<T: Deserialize<'static>>(
    document: &DeTable<'_>,
    section: &str,
) -> Result<(), Fault> {
    match inner_table(document, section) {
        Some(table) => check_table::<T>(table, section),
        None => Ok(()),
    }
}

fn check_each<T: Deserialize<'static>>(document: &DeTable<'_>, section: &str) -> Result<(), Fault> {
    let tables = inner_table(document, section).into_iter().flatten();
    for (name, value) in tables {
        if let DeValue::Table(table) = value.get_ref() {
            check_table::<T>(table, &format!("{section}.{}", name.get_ref()))?;
        }
    }
    Ok(())
}

fn check_table<T: Deserialize<'static>>(table: &DeTable<'_>, path: &str) -> Result<(), Fault> {
    let known = keys_of::<T>();
    match table
        .keys()
        .find(|key| !known.contains(&key.get_ref().as_ref()))
    {
        None => Ok(()),
        Some(unknown) => {
            let key = unknown.get_ref().to_string();
            let nearest = nearest(&key, known.iter().copied());
            Err(Fault::new(
                unknown.span(),
                path,
                Problem::UnknownKey {
                    key,
                    nearest,
                    known,
                },
            ))
        }
    }
}

fn inner_table<'a, 'i>(document: &'a DeTable<'i>, section: &str) -> Option<&'a DeTable<'i>> {
    document.get(section)?.get_ref().as_table()
}

/// Returns the field names of `T`. They come from serde, so that they are written only once.
pub(super) fn keys_of<T: Deserialize<'static>>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    let refused = T::deserialize(KeyProbe(&mut keys));
    debug_assert!(refused.is_err(), "the probe hands out no values");
    keys
}

struct KeyProbe<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for KeyProbe<'_> {
    type Error = de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("only the keys were wanted"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not a table"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
