//! Turns the parsed file into the values the program uses, and rejects contradictions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kitbag_domain::ServerName;
use kitbag_upstream::ServerSpec;

use super::error::{Fault, Problem};
use super::load::BaseDirs;
use super::raw::{ByName, RawConfig};
use super::sections::provider::{self, RawProvider};
use super::sections::server::{self, RawServer};
use super::sections::{
    agents, audit, catalog, code, context, import, index, learning, lock, models, policy, priors,
    registry, secrets, serve, store, surfaces, telemetry, tools, web,
};
use super::values::{Section, parse_key};
use super::{CatalogSettings, Config, Project, ProviderConfig};

pub(super) fn build(raw: RawConfig, base_dirs: &BaseDirs) -> Result<Config, Fault> {
    let (on, off) = build_servers(raw.servers, base_dirs)?;
    let providers = build_providers(raw.providers, |name| {
        on.contains_key(name) || off.contains_key(name)
    })?;
    let agents = agents::build(
        raw.agents,
        |name| on.contains_key(name) || off.contains_key(name) || providers.contains_key(name),
        base_dirs,
    )?;
    Ok(Config {
        agents,
        serve: serve::build(raw.serve)?,
        data_dir: base_dirs.data_dir.clone(),
        store: store::build(raw.store, base_dirs)?,
        secret_key: secrets::build(raw.secrets)?,
        audit: audit::build(raw.audit)?,
        priors: priors::build(raw.priors)?,
        learning: learning::build(raw.learning)?,
        embedder: index::build(raw.index, base_dirs)?,
        tools: tools::build(raw.tools)?,
        catalog: catalog::build(raw.catalog, raw.endpoints, base_dirs)?,
        lock: lock::build(raw.lock)?,
        context: context::build(raw.context),
        web: web::build(raw.web, raw.browser, base_dirs)?,
        surfaces: surfaces::build(raw.surfaces, raw.groups)?,
        code: code::build(raw.code, base_dirs)?,
        models: models::build(raw.models)?,
        telemetry: telemetry::build(&raw.telemetry)?,
        registry: registry::build(raw.registry)?,
        policy: policy::build(raw.policy, raw.tenants, raw.all_tenants)?,
        servers: on,
        disabled: off,
        providers,
        follow: import::build(raw.import)?,
        origin: None,
        project: Project::None,
    })
}

type Servers = BTreeMap<ServerName, ServerSpec>;

/// Returns the enabled and the disabled servers.
fn build_servers(
    raw: ByName<RawServer>,
    base_dirs: &BaseDirs,
) -> Result<(Servers, Servers), Fault> {
    let (mut on, mut off) = (Servers::new(), Servers::new());
    for (name, raw) in raw {
        let section = Section::for_name("servers", &name);
        let name: ServerName = parse_key(&name, "servers")?;
        check_not_reserved(&name, &section)?;
        let servers = match raw.enabled {
            Some(false) => &mut off,
            _ => &mut on,
        };
        let spec = server::build(name.clone(), raw, &section, base_dirs)?;
        servers.insert(name, spec);
    }
    Ok((on, off))
}

/// Servers and providers share one namespace, because rules refer to them by name.
fn build_providers(
    raw: ByName<RawProvider>,
    taken: impl Fn(&ServerName) -> bool,
) -> Result<BTreeMap<ServerName, ProviderConfig>, Fault> {
    let mut providers = BTreeMap::new();
    for (name, raw) in raw {
        let section = Section::for_name("providers", &name);
        let name: ServerName = parse_key(&name, "providers")?;
        check_not_reserved(&name, &section)?;
        if taken(&name) {
            return Err(section.fault(Problem::NameTaken { name }));
        }
        providers.insert(name.clone(), provider::build(name, raw, &section)?);
    }
    Ok(providers)
}

fn check_not_reserved(name: &ServerName, section: &Section) -> Result<(), Fault> {
    match name.as_str() == CatalogSettings::SERVER {
        true => Err(section.fault(Problem::NameReserved { name: name.clone() })),
        false => Ok(()),
    }
}

impl BaseDirs {
    /// Resolves a path relative to the configuration file, and `~` to the home directory.
    pub(super) fn resolve_path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.base.join(text),
        }
    }
}
