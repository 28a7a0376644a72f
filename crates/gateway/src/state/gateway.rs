//! The gateway built from one configuration: its settings, servers, policy and current catalog.
//!
//! Its settings never change. A reload of the configuration builds another [`Gateway`], which
//! shares the [`Services`] of the process.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::{Audit, Code, Config, LearningSettings, Lock, PriorsSettings, Serve, Surfaces};
use kitbag_domain::{Caller, ServerName, WriteClass};
use kitbag_intents::{TemplateName, TemplateSet};
use kitbag_platform::{Platform, PlatformServices};
use kitbag_policy::Policy;
use kitbag_sandbox::Sandbox;
use kitbag_upstream::Upstreams;

use crate::catalog::providers::Providers;
use crate::catalog::tool_files::LoadedToolFiles;
use crate::catalog::{Catalog, CatalogEntry, CatalogSources};
use crate::index::IndexContents;
use crate::index::context_embedding::embed_function;
use crate::index::priors::ToolOverrides;
use crate::learning::intents::read_templates;
use crate::models::model_vendors::ModelVendors;
use crate::state::clock::now;
use crate::state::services::Services;
use crate::state::web_pages::ConfiguredWeb;
use crate::state::workers::build_sandbox;
use kitbag_telemetry::figures::UsageFigures;

/// Everything built from one configuration, and the services of the process.
pub struct Gateway {
    pub serve: Serve,
    pub(crate) surfaces: Surfaces,
    pub(crate) code: Code,
    pub(crate) sandbox: Sandbox,
    /// Built-in templates and the operator's.
    pub(crate) templates: TemplateSet,
    /// Templates whose program has an error. They are never used.
    pub(crate) broken_templates: Mutex<HashSet<TemplateName>>,
    pub policy: Policy,
    pub(crate) audit_settings: Audit,
    pub(crate) priors: PriorsSettings,
    pub(crate) learning: LearningSettings,
    pub(crate) metrics_per_tool: bool,
    /// The operator's overrides of single tools, by the name under which clients call them.
    pub(crate) overrides: ToolOverrides,
    /// The approved definitions of servers.
    pub lock: Lock,
    pub upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    pub(crate) models: ModelVendors,
    /// Tools from tool files.
    pub(crate) tool_files: LoadedToolFiles,
    /// Runs the tools from tool files that have no API.
    pub(crate) platform: Platform,
    pub(crate) web: ConfiguredWeb,
    /// Replaced when a listing changes. A request loads it once, into its turn.
    catalog: ArcSwap<Catalog>,
    pub services: Arc<Services>,
}

/// The external systems that a gateway uses.
pub(crate) struct Backends {
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    pub(crate) models: ModelVendors,
    pub(crate) tool_files: LoadedToolFiles,
    pub(crate) web: ConfiguredWeb,
}

impl Gateway {
    /// Builds the gateway of a configuration, without a catalog yet.
    pub(crate) fn new(config: &Config, backends: Backends, services: Arc<Services>) -> Self {
        let Backends {
            upstreams,
            providers,
            models,
            tool_files,
            web,
        } = backends;
        Self {
            serve: config.serve.clone(),
            surfaces: config.surfaces.clone(),
            code: config.code.clone(),
            sandbox: build_sandbox(&config.code),
            templates: read_templates(&config.code),
            broken_templates: Mutex::default(),
            policy: config.policy.clone(),
            audit_settings: config.audit,
            priors: config.priors.clone(),
            learning: config.learning,
            metrics_per_tool: config.telemetry.per_tool,
            overrides: config.tools.clone(),
            lock: config.lock.clone(),
            upstreams,
            providers,
            models,
            tool_files,
            platform: build_platform(config, &services, &web),
            web,
            catalog: ArcSwap::default(),
            services,
        }
    }

    /// Builds the gateway for a reloaded configuration, without a catalog yet.
    pub(crate) fn with_config(&self, config: &Config, backends: Backends) -> Self {
        let mut next = Self::new(config, backends, self.services.clone());
        // The listener keeps its address. Workers are kept if their limits are the same.
        next.serve.bind = self.serve.bind;
        if self.code == next.code {
            next.sandbox = self.sandbox.clone();
        }
        next
    }

    /// Returns the current catalog. A request calls this once.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Returns true if the caller may know of a server or an API. A server is also hidden from a
    /// caller with a key if policy rules hide everything it offers: its name would reveal something
    /// that the caller may not see.
    pub(crate) fn is_server_visible(
        &self,
        catalog: &Catalog,
        caller: &Caller,
        server: &ServerName,
    ) -> bool {
        if caller.is_local() || !self.policy.has_tool_rules(caller) {
            return self.policy.is_server_visible(caller, server);
        }
        let offered = catalog
            .entries_of_server(server)
            .map(|entry| &entry.capability);
        let unapproved_uris = catalog.unapproved_uris.of_server(server);
        let mut offered = offered
            .chain(catalog.unapproved.of_server(server))
            .chain(unapproved_uris.map(|it| &it.capability))
            .peekable();
        match offered.peek() {
            Some(_) => offered.any(|capability| self.policy.is_visible(caller, capability)),
            None => self.policy.may_reach(caller, server),
        }
    }

    /// Returns the usage figures that the caller may see.
    pub(crate) fn visible_figures(&self, catalog: &Catalog, caller: &Caller) -> UsageFigures {
        self.services
            .meter
            .figures_for(caller, |name, server| match (catalog.tool(name), server) {
                (Some(entry), _) => self.policy.is_visible(caller, &entry.capability),
                (None, Some(server)) => self.is_server_visible(catalog, caller, server),
                (None, None) => true,
            })
    }

    /// Returns how many indexed tools the caller may see, and how many of them have a vector.
    pub(crate) fn index_counts(&self, catalog: &Catalog, caller: &Caller) -> (usize, usize) {
        let snapshot = self.services.index.snapshot();
        if caller.sees_all_tenants() {
            return snapshot.count_served();
        }
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| self.policy.is_visible(caller, &entry.capability));
        let documents = visible.filter_map(|entry| snapshot.index.get(&entry.exposed));
        documents.fold((0, 0), |(tools, embedded), document| {
            (tools + 1, embedded + usize::from(document.vector.is_some()))
        })
    }

    /// Returns the servers that have not been listed yet.
    pub(crate) fn unlisted_servers(&self) -> HashSet<ServerName> {
        let unlisted = self
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none());
        unlisted.map(|server| server.name().clone()).collect()
    }

    /// Returns the name of the template whose program calls a tool.
    pub(crate) fn code_template(&self, catalog: &Catalog, tool: &str) -> Option<&str> {
        let capability = &catalog.tool(tool)?.capability;
        let template = self
            .templates
            .program_for(capability.server.as_str(), &capability.name)?;
        Some(template.as_str())
    }

    pub(crate) fn index_contents<'a>(
        &'a self,
        catalog: &'a Catalog,
        unlisted: &'a HashSet<ServerName>,
    ) -> IndexContents<'a> {
        IndexContents {
            catalog,
            providers: &self.providers,
            overrides: &self.overrides,
            usd_per_million_tokens: self.priors.usd_per_million_tokens,
            unlisted,
        }
    }

    /// Returns true if a server is part of this process and available to every caller.
    pub(crate) fn is_built_in(&self, server: &ServerName) -> bool {
        self.upstreams
            .get(server)
            .is_some_and(|server| server.spec().is_built_in())
    }

    /// Returns the write class of a tool: the operator's override, or else the one from its server.
    pub(crate) fn write_class(&self, tool: &CatalogEntry) -> WriteClass {
        let declared = self.overrides.get(&tool.plain_name);
        declared
            .and_then(|declared| declared.write_class)
            .unwrap_or(tool.write_class)
    }

    /// Returns true if the tool counts as read-only only because of its name and description.
    pub(crate) fn is_read_by_name(&self, tool: &CatalogEntry) -> bool {
        let declared = self.overrides.get(&tool.plain_name);
        tool.lacks_hints
            && tool.write_class == WriteClass::Read
            && declared.is_none_or(|declared| declared.write_class.is_none())
    }

    /// Returns true if the operator pins the tool to every client's list.
    pub(crate) fn is_pinned(&self, tool: &CatalogEntry) -> bool {
        let mut pins = self.surfaces.pinned.iter();
        pins.any(|pin| pin.matches_capability(&tool.capability))
    }

    /// Rebuilds the catalog from the latest listings of the servers.
    pub(crate) fn rebuild_catalog(&self) {
        let listings: BTreeMap<_, _> = self
            .upstreams
            .iter()
            .filter_map(|server| Some((server.name().clone(), server.listing()?)))
            .collect();
        let lock = &self.lock;
        let catalog = Arc::new(Catalog::build(CatalogSources {
            listings,
            lock,
            tool_files: &self.tool_files.tools(),
            overrides: &self.overrides,
            before: &self.catalog(),
        }));
        let before = self.catalog.swap(catalog.clone());
        self.services.drift_log.log_drift(lock, &catalog.unapproved);
        warn_about_contested_uris(&before, &catalog);
    }
}

fn build_platform(config: &Config, services: &Services, web: &ConfiguredWeb) -> Platform {
    Platform::new(PlatformServices {
        store: services.store.clone(),
        embed: embed_function(services.index.embedder()),
        now,
        context: config.context.enabled,
        data_files: config.catalog.data.clone(),
        web: web.pages.clone(),
    })
}

/// Warns of resource URIs that several servers newly claim. Two servers of the same kind share all
/// their URIs, so one is logged as an example.
fn warn_about_contested_uris(before: &Catalog, after: &Catalog) {
    let known = before.routes().contested_uris();
    let mut fresh = after.routes().contested_uris();
    fresh.retain(|uri, servers| known.get(uri) != Some(servers));
    let Some((uri, servers)) = fresh.first_key_value() else {
        return;
    };
    let servers = servers
        .iter()
        .map(ServerName::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    tracing::warn!(
        uri,
        servers,
        count = fresh.len(),
        "several servers claim the same resources; read them as kitbag://server/<server>/<uri>"
    );
}
