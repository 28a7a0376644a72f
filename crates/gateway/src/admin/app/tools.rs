//! The table of all tools, one tool in detail, and calls of tools by people.

use std::sync::Arc;

use kitbag_budget::estimate_tokens;
use kitbag_config::{LockState, ServerLock};
use kitbag_domain::{Caller, Capability, DefinitionKind, Surface};
use kitbag_lockfile::{DefinitionDifference, Drift, ListedOffer, Mark, find_marks};
use kitbag_schema::LineDetail;
use kitbag_wire::{Raw, RawObject};
use serde_json::{Map, Value};

use super::{App, CallOptions};
use crate::admin::priors_report::{DeclaredPriors, PriorsRow, read_namespace};
use crate::admin::tool_table::{ToolSummary, ToolTable};
use crate::call::{McpCall, call_params};
use crate::catalog::{Catalog, CatalogEntry};
use crate::state::gateway::Gateway;
use crate::surface::search::tool_line_for;
use crate::surface::tool_answer::{add_correction_note, correct_arguments};

/// One tool, with everything that is known about it.
#[derive(Debug)]
pub struct ToolDetails {
    pub summary: ToolSummary,
    /// The definition as clients get it.
    pub definition: Value,
    /// The line with which a search describes it to a model.
    pub line: String,
    /// The estimated tokens of that line.
    pub line_tokens: usize,
    /// True if it counts as reading only because of its name and description.
    pub is_read_by_name: bool,
    pub priors: Option<PriorsRow>,
    pub priors_updated_at: Option<i64>,
    /// The name of the template whose program calls it.
    pub template: Option<String>,
    pub versions: DefinitionVersions,
}

/// The approved definition of a tool and the current one.
#[derive(Debug)]
pub enum DefinitionVersions {
    /// Definitions of its server are not checked.
    NotLocked,
    /// The current definition is the approved one.
    Approved { hash: String },
    /// The lock file cannot be read.
    Unreadable { reason: String },
    Drifted {
        drift: Drift,
        /// `None` if the approved text is not stored on this machine.
        difference: Option<DefinitionDifference>,
        /// Suspicious text to review.
        marks: Vec<Mark>,
    },
}

impl App {
    /// Returns the table of all tools, which is built again only after a change.
    pub async fn tool_table(&self) -> anyhow::Result<Arc<ToolTable>> {
        let gateway = self.host.gateway();
        let store = &gateway.services.store;
        let changes = store.watch_changes().borrow().priors;
        // One build at a time: with ten thousand tools it takes a tenth of a second.
        let mut known = self.tool_table.lock().await;
        if let Some(table) = &*known
            && table.is_current(&gateway.catalog(), changes)
        {
            return Ok(table.clone());
        }
        let declared = DeclaredPriors {
            tools: &gateway.overrides,
            usd_per_million_tokens: gateway.priors.usd_per_million_tokens,
        };
        let namespace = gateway.services.index.namespace().await?;
        let priors = read_namespace(declared, store, &namespace).await?;
        let built_from = gateway.clone();
        let build = move || ToolTable::build(&built_from, priors, changes);
        let table = Arc::new(tokio::task::spawn_blocking(build).await?);
        *known = Some(table.clone());
        Ok(table)
    }

    /// Returns a tool by the name that clients use, approved or not; `None` if there is no such
    /// tool.
    pub async fn tool_details(&self, name: &str) -> anyhow::Result<Option<ToolDetails>> {
        let (gateway, table) = (self.host.gateway(), self.tool_table().await?);
        let catalog = gateway.catalog();
        let Some(entry) = find_entry(&catalog, name) else {
            return Ok(None);
        };
        let Some(summary) = table.tool(&entry.exposed) else {
            return Ok(None);
        };
        let line = tool_line_for(&gateway, &Caller::local(), entry, LineDetail::Guided);
        Ok(Some(ToolDetails {
            summary: summary.clone(),
            definition: serde_json::from_str(entry.definition.get())?,
            line_tokens: estimate_tokens(&line),
            line,
            is_read_by_name: gateway.is_read_by_name(entry),
            priors: table.priors(&entry.plain_name).cloned(),
            priors_updated_at: table.priors_updated_at,
            template: gateway.code_template(&catalog, name).map(str::to_owned),
            versions: compare_versions(&gateway, &catalog, &entry.capability).await?,
        }))
    }

    /// Calls a tool by its exposed name, like a client of a small surface: the arguments are
    /// validated against the listing before the server is started.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let by = (Caller::local(), "kitbag call");
        let result = self.call_tool_of(by, name, arguments, options).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Like [`call_tool`](Self::call_tool), for a caller that uses this program: its rules apply,
    /// and the audit has its key.
    pub async fn call_tool_of(
        &self,
        (caller, program): (Caller, &str),
        name: &str,
        arguments: Map<String, Value>,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Raw> {
        // Any token will do: the server gets another one.
        let meta = RawObject::new().with("progressToken", name);
        let mut params = call_params(name, &arguments).with("_meta", &meta);
        let (turn, messages) = self.new_turn_of(caller, program, Surface::Search);
        let correction = correct_arguments(&turn, name, &mut params);
        let call = McpCall::for_tool(name.to_owned(), params);
        let result = self.run_call((turn, messages), call, options).await?;
        Ok(add_correction_note(result, correction.as_ref()))
    }
}

fn find_entry<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a CatalogEntry> {
    let mut unapproved = catalog.unapproved_tools.iter().map(|it| &**it);
    let waiting = unapproved.find(|it| it.exposed == name);
    catalog.tool(name).or(waiting)
}

/// Compares what a server lists now with what was approved.
async fn compare_versions(
    gateway: &Gateway,
    catalog: &Catalog,
    tool: &Capability,
) -> anyhow::Result<DefinitionVersions> {
    if let LockState::Unreadable(error) = &gateway.lock.state {
        let reason = error.to_string();
        return Ok(DefinitionVersions::Unreadable { reason });
    }
    let ServerLock::Locked(locked) = gateway.lock.server_lock(&tool.server) else {
        return Ok(DefinitionVersions::NotLocked);
    };
    let drifted = catalog.unapproved.drifted.get(&tool.server);
    let mut drifted = drifted.into_iter().flatten();
    let Some(drifted) = drifted.find(|it| it.kind == DefinitionKind::Tool && it.name == tool.name)
    else {
        let hash = locked.approved_hash(DefinitionKind::Tool, &tool.name);
        return Ok(hash.map_or(DefinitionVersions::NotLocked, |hash| {
            let hash = hash.to_string();
            DefinitionVersions::Approved { hash }
        }));
    };
    let former = match &drifted.drift {
        Drift::Renamed { from } => from,
        _ => &tool.name,
    };
    let hash = locked.approved_hash(DefinitionKind::Tool, former);
    let approved = match hash.map(|hash| *hash.as_bytes()) {
        Some(hash) => gateway
            .services
            .store
            .approved_bodies(&[hash])
            .await?
            .remove(&hash),
        None => None,
    };
    let current = listed_text(catalog, tool).unwrap_or_default();
    Ok(DefinitionVersions::Drifted {
        drift: drifted.drift.clone(),
        difference: match &drifted.drift {
            Drift::New => Some(DefinitionDifference::whole_definition(&current)),
            _ => approved.map(|approved| DefinitionDifference::between(&approved, &current)),
        },
        marks: find_marks(&current),
    })
}

/// Returns the definition that the server lists, in the form of the lock file.
fn listed_text(catalog: &Catalog, tool: &Capability) -> Option<String> {
    let listing = catalog.listing(&tool.server)?;
    let is_it = |definition: &&Raw| {
        let name = RawObject::peek_member(definition, "name");
        name.and_then(|it| serde_json::from_str(it.get()).ok())
            .as_ref()
            == Some(&tool.name)
    };
    let definition = listing.tools.iter().find(is_it)?;
    let offer = ListedOffer {
        tools: std::slice::from_ref(definition),
        prompts: &[],
        resource_templates: &[],
        skills: &[],
        resources: &[],
        unmasked: &listing.unmasked,
    };
    Some(offer.definitions().pop()?.text)
}
