//! Turns the file that people write into the values that the program runs on, and refuses
//! contradictions.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use kitbag_clients::Client;
use kitbag_domain::{ServerName, Tenant};
use kitbag_policy::{Policy, RuleText, Rules, UnknownTenants};
use kitbag_registry::Registry;
use toml::Spanned;
use url::Url;

use super::error::{Fault, Problem};
use super::load::Ground;
use super::raw::{
    Named, RawAudit, RawConfig, RawImport, RawRegistry, RawRules, RawSecrets, RawServe,
    RawTelemetry, RawTenants, Texts,
};
use super::sections::{agents, index, provider, server, surfaces};
use super::{Audit, Config, KeyPlace, Project, Serve, Telemetry};

pub(super) fn build(raw: RawConfig, ground: &Ground) -> Result<Config, Fault> {
    let mut servers = BTreeMap::new();
    let mut disabled = BTreeMap::new();
    for (name, raw) in raw.servers {
        let key = format!("servers.{}", name.get_ref());
        let name_span = name.span();
        let name: ServerName = parse_key(&name, "servers")?;
        let home = if raw.enabled.unwrap_or(true) {
            &mut servers
        } else {
            &mut disabled
        };
        home.insert(
            name.clone(),
            server::build(
                name,
                raw,
                &Section {
                    key,
                    span: name_span,
                },
                ground,
            )?,
        );
    }
    let mut providers = BTreeMap::new();
    for (name, raw) in raw.providers {
        let section = Section {
            key: format!("providers.{}", name.get_ref()),
            span: name.span(),
        };
        let name: ServerName = parse_key(&name, "providers")?;
        // Servers and APIs are both called by name, and rules are written for names.
        if servers.contains_key(&name) || disabled.contains_key(&name) {
            return Err(section.wrong(Problem::NameTaken { name }));
        }
        providers.insert(name.clone(), provider::build(name, raw, &section)?);
    }
    let taken = |name: &ServerName| {
        servers.contains_key(name) || disabled.contains_key(name) || providers.contains_key(name)
    };
    Ok(Config {
        agents: agents::build(raw.agents, taken, ground)?,
        serve: serve(raw.serve)?,
        data_dir: ground.data_dir.clone(),
        store_path: raw.store.path.map_or_else(
            || ground.data_dir.join("kitbag.db"),
            |path| ground.path(&path),
        ),
        secret_key: secret_key(raw.secrets)?,
        audit: audit(raw.audit)?,
        embedder: index::embedder(raw.index, ground)?,
        tools: index::tools(raw.tools)?,
        surfaces: surfaces::build(raw.surfaces, raw.groups)?,
        telemetry: telemetry(&raw.telemetry)?,
        registry: registry(raw.registry)?,
        policy: policy(raw.policy, raw.tenants, raw.all_tenants)?,
        servers,
        disabled,
        providers,
        follow: follow(raw.import)?,
        origin: None,
        project: Project::None,
    })
}

/// Reads an address such as `127.0.0.1:7420`, `[::1]:7420` or `localhost:7420`.
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

/// The table that a value belongs to: its path, and its place in the text.
pub(super) struct Section {
    pub(super) key: String,
    pub(super) span: Range<usize>,
}

impl Section {
    pub(super) fn wrong(&self, problem: impl Into<Problem>) -> Fault {
        Fault::new(self.span.clone(), &self.key, problem)
    }

    pub(super) fn wrong_at<T>(
        &self,
        key: &str,
        value: &Spanned<T>,
        problem: impl Into<Problem>,
    ) -> Fault {
        Fault::new(value.span(), format!("{}.{key}", self.key), problem)
    }

    /// Returns a whole number of at least `least`, or the default.
    pub(super) fn number(
        &self,
        key: &str,
        value: Option<Spanned<i64>>,
        least: i64,
        default: usize,
    ) -> Result<usize, Fault> {
        let Some(value) = value else {
            return Ok(default);
        };
        let found = *value.get_ref();
        usize::try_from(found)
            .ok()
            .filter(|_| found >= least)
            .ok_or_else(|| self.wrong_at(key, &value, Problem::TooSmall { found, least }))
    }
}

fn serve(raw: RawServe) -> Result<Serve, Fault> {
    let section = Section {
        key: "serve".to_owned(),
        span: 0..0,
    };
    let default = Serve::default();
    let bind = match raw.bind {
        Some(text) => parse_bind(text.get_ref())
            .map_err(|problem| section.wrong_at("bind", &text, problem))?,
        None => default.bind,
    };
    Ok(Serve {
        bind,
        require_key: raw.require_key.unwrap_or(default.require_key),
        allowed_hosts: raw.allowed_hosts,
        allowed_origins: raw
            .allowed_origins
            .iter()
            .map(|text| origin(&section, text))
            .collect::<Result<_, _>>()?,
        max_body_bytes: section.number(
            "max_body_bytes",
            raw.max_body_bytes,
            1024,
            default.max_body_bytes,
        )?,
        page_size: section.number("page_size", raw.page_size, 1, default.page_size)?,
        access_log: raw.access_log.unwrap_or(default.access_log),
    })
}

fn secret_key(raw: RawSecrets) -> Result<KeyPlace, Fault> {
    let section = Section {
        key: "secrets".to_owned(),
        span: 0..0,
    };
    Ok(server::choose(&section, "key", raw.key, &KeyPlace::ALL)?.unwrap_or_default())
}

pub(super) const KEEP_DAYS: usize = 90;

fn audit(raw: RawAudit) -> Result<Audit, Fault> {
    let section = Section {
        key: "audit".to_owned(),
        span: 0..0,
    };
    let days = section.number("keep_days", raw.keep_days, 1, KEEP_DAYS)?;
    let keep = Duration::from_secs(86_400).saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    Ok(Audit {
        keep,
        required: raw.required,
    })
}

fn telemetry(raw: &RawTelemetry) -> Result<Telemetry, Fault> {
    let collector = raw.otlp_endpoint.as_ref().map(collector).transpose()?;
    Ok(Telemetry {
        collector,
        per_tool: raw.metrics_per_tool.unwrap_or_default(),
    })
}

fn collector(text: &Spanned<String>) -> Result<Url, Fault> {
    let section = Section {
        key: "telemetry".to_owned(),
        span: 0..0,
    };
    let url = Url::parse(text.get_ref())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none());
    let wrong = || section.wrong_at("otlp_endpoint", text, Problem::Collector);
    url.ok_or_else(wrong)
}

fn follow(raw: RawImport) -> Result<Vec<Client>, Fault> {
    let section = Section {
        key: "import".to_owned(),
        span: 0..0,
    };
    let clients = Client::ALL.map(|client| (client.name(), client));
    let chosen = raw
        .follow
        .into_iter()
        .map(|name| server::choose(&section, "follow", Some(name), &clients));
    Ok(chosen
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect())
}

fn registry(raw: RawRegistry) -> Result<Url, Fault> {
    let section = Section {
        key: "registry".to_owned(),
        span: 0..0,
    };
    let Some(text) = raw.url else {
        return Ok(default_registry());
    };
    parse_registry(text.get_ref()).map_err(|problem| section.wrong_at("url", &text, problem))
}

/// Reads the address of a registry, without the final `/v0.1`.
pub fn parse_registry(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none());
    url.ok_or(Problem::RegistryUrl)
}

fn default_registry() -> Url {
    Url::parse(Registry::OFFICIAL).expect("a constant that is an address")
}

/// Returns the origin as a browser writes it into `Origin`, so that the two texts can be compared.
fn origin(section: &Section, text: &Spanned<String>) -> Result<String, Fault> {
    Url::parse(text.get_ref())
        .ok()
        .filter(|url| url.has_host() && url.path() == "/" && url.query().is_none())
        .map(|url| url.origin().ascii_serialization())
        .filter(|origin| origin != "null")
        .ok_or_else(|| {
            section.wrong_at(
                "allowed_origins",
                text,
                Problem::Origin {
                    found: text.get_ref().clone(),
                },
            )
        })
}

fn policy(default: RawRules, tenants: Named<RawRules>, all: RawTenants) -> Result<Policy, Fault> {
    let section = Section {
        key: "tenants".to_owned(),
        span: 0..0,
    };
    let unknown = server::choose(&section, "unknown", all.unknown, &UnknownTenants::ALL)?;
    let tenants = tenants
        .into_iter()
        .map(|(name, raw)| {
            let key = format!("tenants.{}", name.get_ref());
            Ok((parse_key::<Tenant, _>(&name, "tenants")?, rules(raw, key)?))
        })
        .collect::<Result<_, Fault>>()?;
    Ok(Policy::new(
        rules(default, "policy".to_owned())?,
        tenants,
        unknown.unwrap_or_default(),
    ))
}

fn rules(raw: RawRules, key: String) -> Result<Rules, Fault> {
    type List = fn(&mut RuleText) -> &mut Vec<String>;
    let lists: [(&'static str, Option<Spanned<Texts>>, List); 4] = [
        ("allow_servers", raw.allow_servers, |text| {
            &mut text.allow_servers
        }),
        ("deny_servers", raw.deny_servers, |text| {
            &mut text.deny_servers
        }),
        ("allow_tools", raw.allow_tools, |text| &mut text.allow_tools),
        ("deny_tools", raw.deny_tools, |text| &mut text.deny_tools),
    ];
    let section = Section { key, span: 0..0 };
    let mut text = RuleText::default();
    for (key, patterns, list) in lists {
        let Some(patterns) = patterns else { continue };
        if patterns.get_ref().is_empty() && key.starts_with("allow_") {
            return Err(section.wrong_at(key, &patterns, Problem::EmptyAllowList { key }));
        }
        for pattern in patterns.into_inner() {
            // Each pattern is first compiled alone, so that an error can name the pattern that is
            // wrong.
            let mut alone = RuleText::default();
            list(&mut alone).push(pattern.get_ref().clone());
            Rules::compile(&alone).map_err(|error| section.wrong_at(key, &pattern, error))?;
            list(&mut text).push(pattern.into_inner());
        }
    }
    Rules::compile(&text).map_err(|error| section.wrong(error))
}

fn parse_key<T, E>(name: &Spanned<String>, section: &str) -> Result<T, Fault>
where
    T: std::str::FromStr<Err = E>,
    Problem: From<E>,
{
    name.get_ref()
        .parse()
        .map_err(|error: E| Fault::new(name.span(), section, error))
}

impl Ground {
    /// Returns a path relative to the configuration file, with `~` for the home directory.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.base.join(text),
        }
    }
}
