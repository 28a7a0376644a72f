//! The parts of the gateway that every request passes through.
//!
//! One reading of the configuration makes a [`Gateway`], whose settings never change. A later
//! [`Gateway`] shares with it what outlives a reading.

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
use crate::catalog::tool_files::DeclaredTools;
use crate::catalog::{Catalog, CatalogEntry, CatalogSources};
use crate::index::Contents;
use crate::index::context_embedding::embed_function;
use crate::index::priors::Declared;
use crate::learning::intents::declared_templates;
use crate::models::model_vendors::ModelVendors;
use crate::state::clock::now;
use crate::state::services::Services;
use crate::state::web_pages::ConfiguredWeb;
use crate::state::workers::sandbox_of;
use kitbag_telemetry::figures::UsageFigures;

/// The result of one reading of the configuration, with what the process keeps beside it.
pub struct Gateway {
    pub serve: Serve,
    pub(crate) surfaces: Surfaces,
    pub(crate) code: Code,
    pub(crate) sandbox: Sandbox,
    /// The templates of the binary and of the operator.
    pub(crate) templates: TemplateSet,
    /// Templates whose program has a mistake. They answer nothing.
    pub(crate) broken_templates: Mutex<HashSet<TemplateName>>,
    pub policy: Policy,
    pub(crate) audit_settings: Audit,
    pub(crate) priors: PriorsSettings,
    pub(crate) learning: LearningSettings,
    pub(crate) metrics_per_tool: bool,
    /// The values that the operator declares for single tools, by the name clients call them.
    pub(crate) declared: Declared,
    /// The definitions of servers that were approved.
    pub lock: Lock,
    pub upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    pub(crate) models: ModelVendors,
    /// The tools that come from files.
    pub(crate) tool_files: DeclaredTools,
    /// Carries out those of them that have no API.
    pub(crate) platform: Platform,
    pub(crate) web: ConfiguredWeb,
    /// Swapped when a server lists something else. A request takes it once, into its turn.
    catalog: ArcSwap<Catalog>,
    pub services: Arc<Services>,
}

/// Everything outside that a gateway reaches.
pub(crate) struct Reached {
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) providers: Providers,
    pub(crate) models: ModelVendors,
    pub(crate) tool_files: DeclaredTools,
    pub(crate) web: ConfiguredWeb,
}

impl Gateway {
    /// The gateway of a configuration, without a catalog yet.
    pub(crate) fn new(config: &Config, reached: Reached, services: Arc<Services>) -> Self {
        let Reached {
            upstreams,
            providers,
            models,
            tool_files,
            web,
        } = reached;
        Self {
            serve: config.serve.clone(),
            surfaces: config.surfaces.clone(),
            code: config.code.clone(),
            sandbox: sandbox_of(&config.code),
            templates: declared_templates(&config.code),
            broken_templates: Mutex::default(),
            policy: config.policy.clone(),
            audit_settings: config.audit,
            priors: config.priors.clone(),
            learning: config.learning,
            metrics_per_tool: config.telemetry.per_tool,
            declared: config.tools.clone(),
            lock: config.lock.clone(),
            upstreams,
            providers,
            models,
            tool_files,
            platform: platform(config, &services, &web),
            web,
            catalog: ArcSwap::default(),
            services,
        }
    }

    /// The gateway after another reading of the configuration, without a catalog yet.
    pub(crate) fn succeeded_by(&self, config: &Config, reached: Reached) -> Self {
        let mut next = Self::new(config, reached, self.services.clone());
        // The listener stays where it is, and so do workers whose limits are the same.
        next.serve.bind = self.serve.bind;
        if self.code == next.code {
            next.sandbox = self.sandbox.clone();
        }
        next
    }

    /// The catalog as it is now; take it once per request.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// True if the caller may know of a server or an API. A server is hidden from a caller with a
    /// key also when rules leave the caller nothing there: the server's name alone would tell of
    /// things that the caller may not see.
    pub(crate) fn server_visible(
        &self,
        catalog: &Catalog,
        caller: &Caller,
        server: &ServerName,
    ) -> bool {
        if caller.is_local() || !self.policy.judges_tools(caller) {
            return self.policy.server_visible(caller, server);
        }
        let offered = catalog.of_server(server).map(|entry| &entry.capability);
        let mut offered = offered.chain(catalog.held.of_server(server)).peekable();
        match offered.peek() {
            Some(_) => offered.any(|capability| self.policy.visible(caller, capability)),
            None => self.policy.may_reach(caller, server),
        }
    }

    /// The figures of the meter that the caller may see.
    pub(crate) fn figures(&self, catalog: &Catalog, caller: &Caller) -> UsageFigures {
        self.services
            .meter
            .figures(caller, |name, server| match (catalog.tool(name), server) {
                (Some(entry), _) => self.policy.visible(caller, &entry.capability),
                (None, Some(server)) => self.server_visible(catalog, caller, server),
                (None, None) => true,
            })
    }

    /// Returns the number of tools of the index that the caller may see, and the number of those
    /// that have their vector.
    pub(crate) fn indexed(&self, catalog: &Catalog, caller: &Caller) -> (usize, usize) {
        let snapshot = self.services.index.snapshot();
        if caller.sees_all_tenants() {
            return snapshot.served();
        }
        let visible = catalog
            .tools
            .iter()
            .filter(|entry| self.policy.visible(caller, &entry.capability));
        let documents = visible.filter_map(|entry| snapshot.index.get(&entry.exposed));
        documents.fold((0, 0), |(tools, embedded), document| {
            (tools + 1, embedded + usize::from(document.vector.is_some()))
        })
    }

    /// Servers that have not said yet what they offer.
    pub(crate) fn unlisted(&self) -> HashSet<ServerName> {
        let unlisted = self
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none());
        unlisted.map(|server| server.name().clone()).collect()
    }

    /// Returns the data from which the index is built.
    /// Returns the name of the template whose program calls a tool.
    pub(crate) fn code_template(&self, catalog: &Catalog, tool: &str) -> Option<&str> {
        let capability = &catalog.tool(tool)?.capability;
        let template = self
            .templates
            .program_for(capability.server.as_str(), &capability.name)?;
        Some(template.as_str())
    }

    pub(crate) fn contents<'a>(
        &'a self,
        catalog: &'a Catalog,
        unlisted: &'a HashSet<ServerName>,
    ) -> Contents<'a> {
        Contents {
            catalog,
            providers: &self.providers,
            declared: &self.declared,
            usd_per_million_tokens: self.priors.usd_per_million_tokens,
            unlisted,
        }
    }

    /// True if a server runs in this process and is there for every caller.
    pub(crate) fn is_built_in(&self, server: &ServerName) -> bool {
        self.upstreams
            .get(server)
            .is_some_and(|server| server.spec().is_built_in())
    }

    /// Returns the effect of a tool: the declared one, or else what its server says.
    pub(crate) fn write_class(&self, tool: &CatalogEntry) -> WriteClass {
        let declared = self.declared.get(&tool.plain_name);
        declared
            .and_then(|declared| declared.write_class)
            .unwrap_or(tool.write_class)
    }

    /// True if the tool is taken to read only because of its name and description.
    pub(crate) fn derives_read(&self, tool: &CatalogEntry) -> bool {
        let declared = self.declared.get(&tool.plain_name);
        tool.lacks_hints
            && tool.write_class == WriteClass::Read
            && declared.is_none_or(|declared| declared.write_class.is_none())
    }

    /// Builds the catalog anew from what the servers listed last.
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
            tool_files: &self.tool_files.offered(),
            declared: &self.declared,
            before: &self.catalog(),
        }));
        let before = self.catalog.swap(catalog.clone());
        self.services.drift_log.tell(lock, &catalog.held);
        mention_contests(&before, &catalog);
    }
}

fn platform(config: &Config, services: &Services, web: &ConfiguredWeb) -> Platform {
    Platform::new(PlatformServices {
        store: services.store.clone(),
        embed: embed_function(services.index.embedder()),
        now,
        context: config.context.enabled,
        data_files: config.catalog.data.clone(),
        web: web.pages.clone(),
    })
}

/// Warns of URIs that several servers claim since the catalog before. Two servers of a kind share
/// everything they have, so one stands for all.
fn mention_contests(before: &Catalog, after: &Catalog) {
    let known = before.routes().contested();
    let mut fresh = after.routes().contested();
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
        "several servers claim the same resources; they are read as kitbag://server/<server>/<uri>"
    );
}
