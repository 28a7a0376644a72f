//! `[serve]`: how clients reach the gateway over HTTP.

use std::net::{Ipv4Addr, SocketAddr};

use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::raw::Texts;
use crate::rows::{KeyRow, KeyTable, Restart, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.serve));

const TABLE: KeyTable = KeyTable {
    path: "serve",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "bind",
            restart: Some(Restart::unless_same(|a, b| a.serve.bind == b.serve.bind)),
            meaning: "The address to listen on. Beyond loopback, `require_key` must be on.",
            ..KeyRow::text(|| Serve::default().bind.to_string())
        },
        KeyRow {
            name: "require_key",
            meaning: "`true` rejects every caller without an API key, including callers on this machine.",
            ..KeyRow::flag(|| Serve::default().require_key)
        },
        KeyRow {
            name: "allowed_hosts",
            meaning: "Host names other than this machine's own that clients may send in `Host`. Setting one means \
                      that a proxy is in front, so every caller needs a key.",
            ..KeyRow::texts(|| Serve::default().allowed_hosts)
        },
        KeyRow {
            name: "allowed_origins",
            meaning: "Origins of web pages that may use the gateway, such as `\"https://app.example\"`. Pages from this \
                      machine are always allowed.",
            ..KeyRow::texts(|| Serve::default().allowed_origins)
        },
        KeyRow {
            name: "max_body_bytes",
            meaning: "The largest message a client may send, on HTTP and on stdio.",
            ..KeyRow::number(|| Serve::default().max_body_bytes)
        },
        KeyRow {
            name: "page_size",
            meaning: "The number of entries on a page of a merged list.",
            ..KeyRow::number(|| Serve::default().page_size)
        },
        KeyRow {
            name: "access_log",
            meaning: "`true` logs each HTTP request: id, method, path, status, bytes, milliseconds, tenant, key id, \
                      address.",
            ..KeyRow::flag(|| Serve::default().access_log)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawServe {
    bind: Option<Spanned<String>>,
    require_key: Option<bool>,
    allowed_hosts: Vec<String>,
    allowed_origins: Texts,
    max_body_bytes: Option<Spanned<i64>>,
    page_size: Option<Spanned<i64>>,
    access_log: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    pub bind: SocketAddr,
    pub require_key: bool,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
    pub page_size: usize,
    /// True if each HTTP request is logged.
    pub access_log: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("listening on {bind} would let anyone who can reach this machine use your tools")]
pub struct UnprotectedBind {
    pub bind: SocketAddr,
}

impl Serve {
    /// True if a caller on this machine needs no key. A gateway that other machines can reach,
    /// directly or through a proxy under another name, cannot tell which caller is local.
    pub fn allows_keyless(&self) -> bool {
        !self.require_key && self.bind.ip().is_loopback() && self.allowed_hosts.is_empty()
    }

    /// Rejects a non-loopback address without `require_key`, since only a key keeps strangers out.
    pub fn check_exposure(&self) -> Result<(), UnprotectedBind> {
        if self.require_key || self.bind.ip().is_loopback() {
            Ok(())
        } else {
            Err(UnprotectedBind { bind: self.bind })
        }
    }
}

impl UnprotectedBind {
    pub const REMEDY: &str = "create a key with `kitbag key create` and start with --require-key \
         (or `require_key = true` under [serve]), or listen on 127.0.0.1";
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)),
            require_key: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            page_size: 1000,
            access_log: false,
        }
    }
}

pub(crate) fn build(raw: RawServe) -> Result<Serve, Fault> {
    let section = Section::new("serve");
    let default = Serve::default();
    let bind = match raw.bind {
        Some(text) => parse_bind(text.get_ref())
            .map_err(|problem| section.fault_at("bind", &text, problem))?,
        None => default.bind,
    };
    Ok(Serve {
        bind,
        require_key: raw.require_key.unwrap_or(default.require_key),
        allowed_hosts: raw.allowed_hosts,
        allowed_origins: raw
            .allowed_origins
            .iter()
            .map(|text| {
                parse_origin(text.get_ref())
                    .map_err(|problem| section.fault_at("allowed_origins", text, problem))
            })
            .collect::<Result<_, _>>()?,
        max_body_bytes: section.parse_number(
            "max_body_bytes",
            raw.max_body_bytes,
            1024,
            default.max_body_bytes,
        )?,
        page_size: section.parse_number("page_size", raw.page_size, 1, default.page_size)?,
        access_log: raw.access_log.unwrap_or(default.access_log),
    })
}

/// Parses an address such as `127.0.0.1:7420`, `[::1]:7420` or `localhost:7420`.
pub fn parse_bind(text: &str) -> Result<SocketAddr, Problem> {
    let local = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse().ok());
    match local {
        Some(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => text.parse().map_err(|_| Problem::Bind {
            found: text.to_owned(),
        }),
    }
}

/// Returns the origin as browsers send it in `Origin`, so that the two texts can be compared.
fn parse_origin(text: &str) -> Result<String, Problem> {
    Url::parse(text)
        .ok()
        .filter(|url| url.has_host() && url.path() == "/" && url.query().is_none())
        .map(|url| url.origin().ascii_serialization())
        .filter(|origin| origin != "null")
        .ok_or_else(|| Problem::Origin {
            found: text.to_owned(),
        })
}
