//! Lists the tables of a configuration, the keys of each table, the values of keys that are not
//! set, and the keys that may hold a secret.

use std::time::Duration;

use jiff::SignedDuration;
use kitbag_apis::ProviderSpec;
use kitbag_registry::Registry;
use kitbag_upstream::ServerLimits;
use kitbag_upstream::oauth::Flow;
use toml::Value;
use toml::de::DeTable;

use crate::keys::keys_of;
use crate::raw::{
    RawAgents, RawAudit, RawElsewhere, RawImport, RawIndex, RawOauth, RawProvider, RawRegistry,
    RawRules, RawSecrets, RawServe, RawServer, RawStore, RawSurfaces, RawTelemetry, RawTenants,
    RawTool,
};
use crate::sections::{index, oauth};
use crate::{Config, KeyPlace, Serve, Surfaces, Telemetry, build};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Serve,
    Store,
    Secrets,
    Audit,
    Index,
    Agents,
    Elsewhere,
    Tool,
    Surfaces,
    Telemetry,
    Registry,
    Import,
    Rules,
    Tenants,
    Server,
    Oauth,
    Provider,
}

/// The layout of the tables of a section.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    One(Kind),
    /// The section has one table for each name.
    Each(Kind),
    /// The section has one table for each name, beside keys of its own.
    EachBeside {
        own: Kind,
        each: Kind,
    },
    /// The person chose every key.
    Named,
}

/// The value of a key that is not written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fallback {
    Value(Value),
    Nothing,
}

/// The part of a value that may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    /// Only the variables in the value may be shown.
    Whole,
    /// The value is a list of words of a command line. Some of them may be secrets.
    Words,
    /// The value is an address, which may contain a password or a key.
    Address,
}

/// The way in which a value is treated when it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nature {
    pub(super) secrecy: Secrecy,
    /// True if variables in the value are filled in.
    pub(super) is_template: bool,
}

impl Nature {
    pub(super) const PLAIN: Self = Self {
        secrecy: Secrecy::Open,
        is_template: false,
    };
}

pub(super) fn shape(section: &str) -> Option<Shape> {
    Some(match section {
        "serve" => Shape::One(Kind::Serve),
        "store" => Shape::One(Kind::Store),
        "secrets" => Shape::One(Kind::Secrets),
        "audit" => Shape::One(Kind::Audit),
        "index" => Shape::One(Kind::Index),
        "agents" => Shape::One(Kind::Agents),
        "surfaces" => Shape::One(Kind::Surfaces),
        "telemetry" => Shape::One(Kind::Telemetry),
        "registry" => Shape::One(Kind::Registry),
        "import" => Shape::One(Kind::Import),
        "policy" => Shape::One(Kind::Rules),
        "tools" => Shape::Each(Kind::Tool),
        "tenants" => Shape::EachBeside {
            own: Kind::Tenants,
            each: Kind::Rules,
        },
        "servers" => Shape::Each(Kind::Server),
        "providers" => Shape::Each(Kind::Provider),
        "groups" => Shape::Named,
        _ => return None,
    })
}

impl Kind {
    #[cfg(test)]
    pub(super) const ALL: [Self; 17] = [
        Self::Serve,
        Self::Store,
        Self::Secrets,
        Self::Audit,
        Self::Index,
        Self::Agents,
        Self::Elsewhere,
        Self::Tool,
        Self::Surfaces,
        Self::Telemetry,
        Self::Registry,
        Self::Import,
        Self::Rules,
        Self::Tenants,
        Self::Server,
        Self::Oauth,
        Self::Provider,
    ];

    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Serve => keys_of::<RawServe>(),
            Self::Store => keys_of::<RawStore>(),
            Self::Secrets => keys_of::<RawSecrets>(),
            Self::Audit => keys_of::<RawAudit>(),
            Self::Index => keys_of::<RawIndex>(),
            Self::Agents => keys_of::<RawAgents>(),
            Self::Elsewhere => keys_of::<RawElsewhere>(),
            Self::Tool => keys_of::<RawTool>(),
            Self::Surfaces => keys_of::<RawSurfaces>(),
            Self::Telemetry => keys_of::<RawTelemetry>(),
            Self::Registry => keys_of::<RawRegistry>(),
            Self::Import => keys_of::<RawImport>(),
            Self::Rules => keys_of::<RawRules>(),
            Self::Tenants => keys_of::<RawTenants>(),
            Self::Server => keys_of::<RawServer>(),
            Self::Oauth => keys_of::<RawOauth>(),
            Self::Provider => keys_of::<RawProvider>(),
        }
    }

    /// Returns the table under a key, if Kitbag defines the keys of that table and the person does
    /// not.
    pub(super) fn inner(self, key: &str) -> Option<Self> {
        match (self, key) {
            (Self::Index, "embedder") => Some(Self::Elsewhere),
            (Self::Server, "oauth") => Some(Self::Oauth),
            _ => None,
        }
    }

    /// True if a key has no meaning beside the other keys of the table.
    pub(super) fn is_foreign(self, key: &str, table: Option<&DeTable<'_>>) -> bool {
        let has = |key: &str| table.is_some_and(|table| table.contains_key(key));
        match self {
            Self::Server if has("command") => {
                matches!(key, "url" | "headers" | "transport" | "oauth")
            }
            Self::Server => matches!(key, "command" | "args" | "env" | "cwd"),
            Self::Elsewhere if has("directory") => {
                matches!(
                    key,
                    "endpoint" | "model" | "api_key" | "dimensions" | "timeout"
                )
            }
            Self::Elsewhere => key == "directory",
            _ => false,
        }
    }

    fn secrecy(self, key: &str) -> Secrecy {
        match (self, key) {
            (Self::Server | Self::Provider, "env" | "headers" | "bearer")
            | (Self::Oauth, "client_secret")
            | (Self::Elsewhere, "api_key") => Secrecy::Whole,
            (Self::Server, "args") => Secrecy::Words,
            (Self::Server | Self::Provider | Self::Registry, "url")
            | (Self::Elsewhere, "endpoint")
            | (Self::Telemetry, "otlp_endpoint")
            | (Self::Oauth, "issuer" | "client_metadata_url") => Secrecy::Address,
            _ => Secrecy::Open,
        }
    }

    pub(super) fn nature(self, key: &str) -> Nature {
        let secrecy = self.secrecy(key);
        let by_name = self == Self::Server && matches!(key, "command" | "url");
        Nature {
            secrecy,
            is_template: by_name || matches!(secrecy, Secrecy::Whole | Secrecy::Words),
        }
    }

    /// Returns `None` for a key that is not listed here, for example a new one.
    pub(super) fn fallback(self, key: &str, config: &Config) -> Option<Fallback> {
        let value = match self {
            Self::Serve => serve(key)?,
            Self::Store if key == "path" => {
                text(&config.data_dir.join("kitbag.db").display().to_string())
            }
            Self::Secrets if key == "key" => text(KeyPlace::default().as_str()),
            Self::Audit if key == "keep_days" => number(build::KEEP_DAYS),
            Self::Audit if key == "required" => Value::Boolean(false),
            Self::Index if key == "embedder" => text(index::BUILT_IN),
            Self::Import if key == "follow" => texts(&[]),
            Self::Agents if key == "enabled" => Value::Boolean(true),
            Self::Agents if key == "directory" => return Some(Fallback::Nothing),
            Self::Elsewhere if key == "timeout" => duration(index::DEFAULT_TIMEOUT),
            Self::Surfaces => surfaces(key)?,
            Self::Telemetry if key == "metrics_per_tool" => {
                Value::Boolean(Telemetry::default().per_tool)
            }
            Self::Tenants if key == "unknown" => text("deny"),
            Self::Registry if key == "url" => text(Registry::OFFICIAL),
            Self::Oauth if key == "flow" => text(oauth::name_of(Flow::default())),
            Self::Server => return server(key),
            Self::Provider => return provider(key),
            Self::Elsewhere | Self::Tool | Self::Telemetry | Self::Rules | Self::Oauth
                if self.keys().contains(&key) =>
            {
                return Some(Fallback::Nothing);
            }
            _ => return None,
        };
        Some(Fallback::Value(value))
    }
}

fn serve(key: &str) -> Option<Value> {
    let default = Serve::default();
    Some(match key {
        "bind" => text(&default.bind.to_string()),
        "require_key" => Value::Boolean(default.require_key),
        "allowed_hosts" => texts(&default.allowed_hosts),
        "allowed_origins" => texts(&default.allowed_origins),
        "max_body_bytes" => number(default.max_body_bytes),
        "page_size" => number(default.page_size),
        "access_log" => Value::Boolean(default.access_log),
        _ => return None,
    })
}

fn surfaces(key: &str) -> Option<Value> {
    let default = Surfaces::default();
    Some(match key {
        "default" => text(default.default.as_str()),
        "keys" | "clients" => Value::Table(toml::Table::new()),
        "pinned" => texts(&[]),
        "result_tokens" => number(default.result_tokens),
        _ => return None,
    })
}

fn server(key: &str) -> Option<Fallback> {
    let limits = ServerLimits::default();
    Some(Fallback::Value(match key {
        "command" | "url" | "cwd" | "oauth" => return Some(Fallback::Nothing),
        "args" => texts(&[]),
        "env" | "headers" => Value::Table(toml::Table::new()),
        "transport" => text("http"),
        "enabled" => Value::Boolean(true),
        "era" => text("auto"),
        "start_timeout" => duration(limits.start_timeout),
        "call_timeout" => duration(limits.call_timeout),
        "call_deadline" => duration(limits.call_deadline),
        "idle_timeout" => duration(limits.idle_timeout),
        "max_concurrent" => number(limits.max_concurrent),
        "max_queued" => number(limits.max_queued),
        "max_message_bytes" => number(limits.max_message_bytes),
        _ => return None,
    }))
}

fn provider(key: &str) -> Option<Fallback> {
    Some(Fallback::Value(match key {
        "url" | "description" | "bearer" => return Some(Fallback::Nothing),
        "headers" => Value::Table(toml::Table::new()),
        "methods" => texts(&ProviderSpec::DEFAULT_METHODS.map(|method| method.to_string())),
        "allow_private" => Value::Boolean(false),
        "allow_addresses" => texts(&[]),
        "timeout" => duration(ProviderSpec::DEFAULT_TIMEOUT),
        "max_response_bytes" => number(ProviderSpec::DEFAULT_MAX_RESPONSE_BYTES),
        _ => return None,
    }))
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn texts(texts: &[String]) -> Value {
    Value::Array(texts.iter().map(|it| text(it)).collect())
}

fn number(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn duration(duration: Duration) -> Value {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    Value::String(format!("{duration:#}"))
}
