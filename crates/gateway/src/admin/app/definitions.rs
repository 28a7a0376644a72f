//! The definitions that servers list, for the person who approves them.

use futures::future::join_all;
use kitbag_domain::{Caller, DefinitionKind, ServerName, UnmaskedHash};
use kitbag_lockfile::{DriftedDefinition, ListedDefinition, ListedOffer};
use kitbag_upstream::{Listing, Server};
use kitbag_wire::Raw;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::App;
use crate::call::failure::Failure;
use crate::catalog::list_servers::ListingPermits;
use crate::catalog::overrides;

/// The unmodified definitions of a server, approved or not.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerDefinitions {
    pub server: ServerName,
    pub tools: Vec<Raw>,
    pub prompts: Vec<Raw>,
    pub resource_templates: Vec<Raw>,
    pub skills: Vec<Raw>,
    pub resources: Vec<Raw>,
    /// The hashes of definitions with masked secrets, from before masking.
    pub unmasked: Vec<UnmaskedHash>,
    /// The reason why the server did not answer.
    pub silence: Option<String>,
    /// The reasons why definitions may be missing.
    pub gaps: Vec<String>,
}

impl ServerDefinitions {
    /// Returns every definition in the form of the lock file.
    pub fn definitions(&self) -> Vec<ListedDefinition> {
        let offer = ListedOffer {
            tools: &self.tools,
            prompts: &self.prompts,
            resource_templates: &self.resource_templates,
            skills: &self.skills,
            resources: &self.resources,
            unmasked: &self.unmasked,
        };
        offer.definitions()
    }

    fn from_listing(server: &ServerName, listing: &Listing) -> Self {
        let gaps = listing.problems.iter().filter(|it| it.incomplete);
        Self {
            server: server.clone(),
            tools: listing.tools.clone(),
            prompts: listing.prompts.clone(),
            resource_templates: listing.templates.clone(),
            skills: listing.skills.clone(),
            resources: listing.resources.clone(),
            unmasked: listing.unmasked.clone(),
            silence: None,
            gaps: gaps
                .map(|it| format!("{}: {}", it.about, it.what))
                .collect(),
        }
    }

    fn unreachable(server: &ServerName, reason: String) -> Self {
        Self {
            server: server.clone(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resource_templates: Vec::new(),
            skills: Vec::new(),
            resources: Vec::new(),
            unmasked: Vec::new(),
            silence: Some(reason),
            gaps: Vec::new(),
        }
    }
}

impl App {
    /// Lists these servers again.
    pub async fn list_definitions(&self, servers: &[ServerName]) -> Vec<ServerDefinitions> {
        let gateway = self.host.gateway();
        let servers = gateway
            .upstreams
            .iter()
            .filter(|it| servers.contains(it.name()));
        let permits = ListingPermits::default();
        join_all(servers.map(|server| self.list_server_definitions(server, &permits))).await
    }

    /// Returns the definitions of a server's last listing, without asking it again.
    pub fn known_definitions(&self, server: &ServerName) -> Option<ServerDefinitions> {
        let gateway = self.host.gateway();
        let listing = gateway.upstreams.get(server)?.listing()?;
        Some(ServerDefinitions::from_listing(server, &listing))
    }

    async fn list_server_definitions(
        &self,
        server: &Arc<Server>,
        permits: &ListingPermits,
    ) -> ServerDefinitions {
        match permits.list_server(&self.host, server).await {
            Ok(listing) => ServerDefinitions::from_listing(server.name(), &listing),
            Err(error) => ServerDefinitions::unreachable(server.name(), error.to_string()),
        }
    }

    /// Returns the definition of the tool with that name, as a local client gets it.
    pub fn tool_definition(&self, name: &str) -> Result<Option<Value>, Failure> {
        let gateway = self.host.gateway();
        let catalog = gateway.catalog();
        if let Some(capability) = catalog.unapproved.tool(name)
            && let Some(reason) = catalog.unapproved.reason(capability)
        {
            return Err(Failure::Unapproved {
                kind: DefinitionKind::Tool,
                name: name.to_owned(),
                reason: reason.clone(),
            });
        }
        let entry = catalog
            .tool(name)
            .filter(|it| gateway.policy.is_visible(&Caller::local(), &it.capability));
        Ok(entry.and_then(|entry| serde_json::from_str(entry.definition.get()).ok()))
    }

    /// Returns the overrides of the configuration that do not match their tools, with the reasons.
    pub fn override_problems(&self) -> Vec<(String, String)> {
        let gateway = self.host.gateway();
        overrides::find_override_problems(&gateway, &gateway.catalog())
    }

    /// Returns everything that differs from its approved definition, as far as servers are listed.
    pub fn drifted_definitions(&self) -> BTreeMap<ServerName, Vec<DriftedDefinition>> {
        self.host.gateway().catalog().unapproved.drifted.clone()
    }
}
