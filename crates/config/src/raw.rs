//! The keys of `kitbag.toml` as people write them.
//!
//! Only the shape is checked here: that a key exists and that its value is of the right kind. Every
//! value keeps its position in the text, so that a later check can name that position.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Fault, Problem};
use super::keys;

/// A key that a person chose, such as the name of a server or a tenant.
pub(super) type Named<T> = BTreeMap<Spanned<String>, T>;
pub(super) type Texts = Vec<Spanned<String>>;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawConfig {
    pub(super) serve: RawServe,
    pub(super) store: RawStore,
    pub(super) secrets: RawSecrets,
    pub(super) audit: RawAudit,
    pub(super) index: RawIndex,
    pub(super) agents: RawAgents,
    pub(super) tools: Named<RawTool>,
    pub(super) surfaces: RawSurfaces,
    pub(super) groups: Named<Texts>,
    pub(super) telemetry: RawTelemetry,
    pub(super) registry: RawRegistry,
    pub(super) policy: RawRules,
    pub(super) tenants: Named<RawRules>,
    /// The keys under `[tenants]` that are not tables of tenants.
    #[serde(skip)]
    pub(super) all_tenants: RawTenants,
    pub(super) servers: Named<RawServer>,
    pub(super) providers: Named<RawProvider>,
    pub(super) import: RawImport,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawServe {
    pub(super) bind: Option<Spanned<String>>,
    pub(super) require_key: Option<bool>,
    pub(super) allowed_hosts: Vec<String>,
    pub(super) allowed_origins: Texts,
    pub(super) max_body_bytes: Option<Spanned<i64>>,
    pub(super) page_size: Option<Spanned<i64>>,
    pub(super) access_log: Option<bool>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawStore {
    pub(super) path: Option<String>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawSecrets {
    pub(super) key: Option<Spanned<String>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawImport {
    pub(super) follow: Texts,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawAudit {
    pub(super) keep_days: Option<Spanned<i64>>,
    pub(super) required: bool,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawIndex {
    pub(super) embedder: Option<Spanned<RawEmbedder>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawAgents {
    pub(super) enabled: Option<Spanned<bool>>,
    pub(super) directory: Option<Spanned<String>>,
}

/// `"built-in"`, or a table that names the place of a model.
#[derive(Debug)]
pub(super) enum RawEmbedder {
    Named(String),
    Elsewhere(Box<RawElsewhere>),
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawElsewhere {
    pub(super) directory: Option<Spanned<String>>,
    pub(super) endpoint: Option<Spanned<String>>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) api_key: Option<Spanned<String>>,
    pub(super) dimensions: Option<Spanned<i64>>,
    pub(super) timeout: Option<Spanned<RawDuration>>,
    pub(super) query_prefix: Option<String>,
    pub(super) document_prefix: Option<String>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawTool {
    pub(super) cost_usd: Option<Spanned<f64>>,
    pub(super) p95_latency_ms: Option<Spanned<f64>>,
    pub(super) p99_latency_ms: Option<Spanned<f64>>,
    pub(super) success_rate: Option<Spanned<f64>>,
    pub(super) tags: Vec<String>,
    pub(super) scopes: Vec<String>,
    pub(super) group: Option<String>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawSurfaces {
    pub(super) default: Option<Spanned<String>>,
    pub(super) keys: Named<Spanned<String>>,
    pub(super) clients: Named<Spanned<String>>,
    pub(super) pinned: Texts,
    pub(super) result_tokens: Option<Spanned<i64>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawTelemetry {
    pub(super) otlp_endpoint: Option<Spanned<String>>,
    pub(super) metrics_per_tool: Option<bool>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawRegistry {
    pub(super) url: Option<Spanned<String>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawRules {
    pub(super) allow_servers: Option<Spanned<Texts>>,
    pub(super) deny_servers: Option<Spanned<Texts>>,
    pub(super) allow_tools: Option<Spanned<Texts>>,
    pub(super) deny_tools: Option<Spanned<Texts>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawTenants {
    pub(super) unknown: Option<Spanned<String>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawServer {
    pub(super) command: Option<Spanned<String>>,
    pub(super) args: Option<Spanned<Vec<String>>>,
    pub(super) env: Option<Spanned<Named<String>>>,
    pub(super) cwd: Option<Spanned<String>>,
    pub(super) url: Option<Spanned<String>>,
    pub(super) headers: Option<Spanned<Named<String>>>,
    pub(super) transport: Option<Spanned<String>>,
    pub(super) oauth: Option<Spanned<RawOauth>>,
    pub(super) enabled: Option<bool>,
    pub(super) era: Option<Spanned<String>>,
    pub(super) start_timeout: Option<Spanned<RawDuration>>,
    pub(super) call_timeout: Option<Spanned<RawDuration>>,
    pub(super) call_deadline: Option<Spanned<RawDuration>>,
    pub(super) idle_timeout: Option<Spanned<RawDuration>>,
    pub(super) max_concurrent: Option<Spanned<i64>>,
    pub(super) max_queued: Option<Spanned<i64>>,
    pub(super) max_message_bytes: Option<Spanned<i64>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawOauth {
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<Spanned<String>>,
    pub(super) auth_method: Option<Spanned<String>>,
    pub(super) client_metadata_url: Option<Spanned<String>>,
    pub(super) scopes: Vec<String>,
    pub(super) issuer: Option<String>,
    pub(super) redirect_port: Option<Spanned<i64>>,
    pub(super) flow: Option<Spanned<String>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(super) struct RawProvider {
    pub(super) url: Option<Spanned<String>>,
    pub(super) description: Option<String>,
    pub(super) headers: Option<Spanned<Named<String>>>,
    pub(super) bearer: Option<Spanned<String>>,
    pub(super) methods: Option<Spanned<Texts>>,
    pub(super) allow_private: bool,
    pub(super) allow_addresses: Texts,
    pub(super) timeout: Option<Spanned<RawDuration>>,
    pub(super) max_response_bytes: Option<Spanned<i64>>,
}

/// `"90s"`, `"10m"`, or a number of seconds.
#[derive(Debug)]
pub(super) enum RawDuration {
    Text(String),
    Seconds(i64),
}

pub(super) fn read(text: &str) -> Result<RawConfig, Fault> {
    let document = DeTable::parse(text).map_err(|error| syntax(&error))?;
    keys::check(document.get_ref())?;
    let mut tables = document.clone();
    let unknown = take_unknown_tenants(tables.get_mut())?;
    let raw = RawConfig::deserialize(toml::Deserializer::from(tables))
        .map_err(|error| misfit(document.get_ref(), &error))?;
    Ok(RawConfig {
        all_tenants: RawTenants { unknown },
        ..raw
    })
}

/// `unknown` under `[tenants]` is a setting, while everything else there is the name of a tenant.
fn take_unknown_tenants(document: &mut DeTable<'_>) -> Result<Option<Spanned<String>>, Fault> {
    const KEY: &str = "tenants.unknown";
    let Some(DeValue::Table(tenants)) = document.get_mut("tenants").map(Spanned::get_mut) else {
        return Ok(None);
    };
    let Some(value) = tenants.remove("unknown") else {
        return Ok(None);
    };
    let span = value.span();
    match value.into_inner() {
        DeValue::String(text) => Ok(Some(Spanned::new(span, text.into_owned()))),
        DeValue::Table(_) => Err(Fault::new(span, KEY, Problem::ReservedTenant)),
        other => {
            let (expected, found) = ("a string".to_owned(), other.type_str());
            Err(Fault::new(
                span,
                KEY,
                Problem::WrongType { expected, found },
            ))
        }
    }
}

fn syntax(error: &toml::de::Error) -> Fault {
    let problem = Problem::Syntax {
        message: error.message().to_owned(),
    };
    Fault::new(error.span().unwrap_or_default(), "", problem)
}

/// serde's message quotes the value that it met, and that value may be a secret. So only the
/// expected kind is kept, and the kind of the actual value is looked up in the document.
fn misfit(document: &DeTable<'_>, error: &toml::de::Error) -> Fault {
    let span = error.span().unwrap_or_default();
    let (key, found) = locate(document, &span).unwrap_or_default();
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
    Fault::new(
        span,
        key,
        Problem::WrongType {
            expected: expected.to_owned(),
            found,
        },
    )
}

/// Returns the path of the value at `span`, and the kind of the value.
fn locate(table: &DeTable<'_>, span: &Range<usize>) -> Option<(String, &'static str)> {
    table.iter().find_map(|(key, value)| {
        let (inner, kind) = locate_in(value, span)?;
        Some((format!("{}{inner}", key.get_ref()), kind))
    })
}

fn locate_in(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<(String, &'static str)> {
    let here = (value.span() == *span).then(|| (String::new(), value.get_ref().type_str()));
    here.or_else(|| match value.get_ref() {
        DeValue::Table(table) => {
            locate(table, span).map(|(inner, kind)| (format!(".{inner}"), kind))
        }
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            locate_in(item, span).map(|(inner, kind)| (format!("[{index}]{inner}"), kind))
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

impl<'de> Deserialize<'de> for RawEmbedder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EmbedderVisitor;

        impl<'de> Visitor<'de> for EmbedderVisitor {
            type Value = RawEmbedder;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"built-in\" or a table")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<RawEmbedder, E> {
                Ok(RawEmbedder::Named(name.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawEmbedder, A::Error> {
                let table = de::value::MapAccessDeserializer::new(map);
                RawElsewhere::deserialize(table)
                    .map(|table| RawEmbedder::Elsewhere(Box::new(table)))
            }
        }

        deserializer.deserialize_any(EmbedderVisitor)
    }
}
