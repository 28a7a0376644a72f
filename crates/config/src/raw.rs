//! The sections of `kitbag.toml` as written.
//!
//! Only the form is checked here: keys exist and values have the right type. Every value keeps its
//! position in the text, so that later checks can report it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use kitbag_domain::TomlProblem;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::Fault;
use super::keys;
use super::sections::{
    agents, audit, catalog, code, context, import, index, learning, lock, models, policy, priors,
    provider, registry, secrets, serve, server, store, surfaces, telemetry, tools, web,
};

/// A key chosen by the user, such as the name of a server or a tenant.
pub(super) type ByName<T> = BTreeMap<Spanned<String>, T>;
pub(super) type Texts = Vec<Spanned<String>>;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawConfig {
    pub(super) serve: serve::RawServe,
    pub(super) store: store::RawStore,
    pub(super) secrets: secrets::RawSecrets,
    pub(super) audit: audit::RawAudit,
    pub(super) priors: priors::RawPriors,
    pub(super) learning: learning::RawLearning,
    pub(super) index: index::RawIndex,
    pub(super) agents: agents::RawAgents,
    pub(super) tools: ByName<tools::RawTool>,
    pub(super) catalog: catalog::RawCatalog,
    pub(super) endpoints: ByName<catalog::RawEndpoint>,
    pub(super) lock: lock::RawLock,
    pub(super) context: context::RawContext,
    pub(super) web: web::RawWeb,
    pub(super) browser: web::RawBrowser,
    pub(super) surfaces: surfaces::RawSurfaces,
    pub(super) groups: ByName<Texts>,
    pub(super) code: code::RawCode,
    pub(super) models: models::RawModels,
    pub(super) telemetry: telemetry::RawTelemetry,
    pub(super) registry: registry::RawRegistry,
    pub(super) policy: policy::RawRules,
    pub(super) tenants: ByName<policy::RawRules>,
    /// The keys under `[tenants]` that are not tables of tenants.
    #[serde(skip)]
    pub(super) all_tenants: policy::RawTenants,
    pub(super) servers: ByName<server::RawServer>,
    pub(super) providers: ByName<provider::RawProvider>,
    pub(super) import: import::RawImport,
}

/// `"90s"`, `"10m"`, or a number of seconds.
#[derive(Debug)]
pub(super) enum RawDuration {
    Text(String),
    Seconds(i64),
}

pub(super) fn parse_raw(text: &str) -> Result<RawConfig, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().to_owned();
        let span = error.span().unwrap_or_default();
        Fault::new(span, "", TomlProblem::Syntax { message })
    })?;
    keys::check_keys(document.get_ref())?;
    let mut tables = document.clone();
    let all_tenants = policy::RawTenants::take_from(tables.get_mut())?;
    let raw = RawConfig::deserialize(toml::Deserializer::from(tables))
        .map_err(|error| type_fault(document.get_ref(), &error))?;
    Ok(RawConfig { all_tenants, ..raw })
}

/// serde's message quotes the value it found, which may be a secret. So only the expected type is
/// kept, and the actual type is looked up in the document.
fn type_fault(document: &DeTable<'_>, error: &toml::de::Error) -> Fault {
    let span = error.span().unwrap_or_default();
    let (key, found) = find_value(document, &span).unwrap_or_default();
    let expected = match error
        .message()
        .rsplit_once("expected ")
        .map_or("another value", |(_, it)| it)
    {
        "i64" => "a whole number",
        "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "a table",
        other => other,
    };
    let expected = expected.to_owned();
    Fault::new(span, key, TomlProblem::WrongType { expected, found })
}

/// Returns the path and the type of the value at `span`.
fn find_value(table: &DeTable<'_>, span: &Range<usize>) -> Option<(String, &'static str)> {
    table.iter().find_map(|(key, value)| {
        let (inner, kind) = find_value_in(value, span)?;
        Some((format!("{}{inner}", key.get_ref()), kind))
    })
}

fn find_value_in(
    value: &Spanned<DeValue<'_>>,
    span: &Range<usize>,
) -> Option<(String, &'static str)> {
    let here = (value.span() == *span).then(|| (String::new(), value.get_ref().type_str()));
    here.or_else(|| match value.get_ref() {
        DeValue::Table(table) => {
            find_value(table, span).map(|(inner, kind)| (format!(".{inner}"), kind))
        }
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            find_value_in(item, span).map(|(inner, kind)| (format!("[{index}]{inner}"), kind))
        }),
        _ => None,
    })
}

impl<'de> Deserialize<'de> for RawDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DurationVisitor;

        impl Visitor<'_> for DurationVisitor {
            type Value = RawDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"90s\" or \"10m\", or a number of seconds")
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<RawDuration, E> {
                Ok(RawDuration::Seconds(seconds))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawDuration, E> {
                Ok(RawDuration::Text(text.to_owned()))
            }
        }

        deserializer.deserialize_any(DurationVisitor)
    }
}
