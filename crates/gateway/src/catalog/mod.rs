//! Everything the servers offer, under the names clients see: an immutable snapshot, rebuilt
//! whenever a listing changes.
//!
//! Built from listings, tool files, the operator's overrides and the lock file. Performs no call
//! for a client; only `list_servers` communicates with servers.

pub(crate) mod approved_texts;
pub mod built_in_servers;
pub(crate) mod catalog_entry;
pub(crate) mod definitions;
pub mod drift;
pub(crate) mod list_diff;
pub mod list_servers;
pub(crate) mod overrides;
pub(crate) mod pending_listings;
pub mod prompts;
pub(crate) mod providers;
pub mod resources;
pub(crate) mod skills;
pub mod tool_files;
pub(crate) mod unapproved_uris;
pub(crate) mod uri_template;

use kitbag_domain::WriteClass;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use kitbag_config::{Lock, ToolOverride};
use kitbag_domain::{Capability, DefinitionKind, ExposedName, Kind, ServerName};
use kitbag_intents::{AutomaticIntents, OfferedTool};
use kitbag_lockfile::{Judgement, ListedOffer, UnapprovedEntries, UnapprovedReason};
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

use serde_json::Value;

pub use crate::catalog::catalog_entry::CatalogEntry;
use crate::catalog::catalog_entry::{URI, URI_TEMPLATE, expose_name, expose_uris};
use crate::catalog::drift::{judge_listing, listed_offer};
use crate::catalog::list_diff::previous_positions;
use crate::catalog::resources::{ResourceRoutes, Visible, mark_uri, parse_marked_uri};
use crate::catalog::skills::{Skill, SkillIndex};
use crate::catalog::tool_files::{FileTool, FileTools};
use crate::catalog::unapproved_uris::UnapprovedUris;
use crate::state::per_caller::PerCaller;

#[derive(Debug, Default)]
pub struct Catalog {
    pub tools: Vec<Arc<CatalogEntry>>,
    pub(crate) prompts: Vec<Arc<CatalogEntry>>,
    pub(crate) resources: Vec<Arc<CatalogEntry>>,
    pub(crate) templates: Vec<Arc<CatalogEntry>>,
    pub(crate) skills: Vec<Arc<CatalogEntry>>,
    tools_by_name: HashMap<String, usize>,
    prompts_by_name: HashMap<String, usize>,
    /// The plain names of tools that the operator hides from all clients.
    hidden: HashSet<String>,
    /// The tools and prompts that are withheld from callers.
    pub(crate) unapproved: UnapprovedEntries,
    /// The unapproved tools. A search counts them, but shows none.
    pub(crate) unapproved_tools: Vec<Arc<CatalogEntry>>,
    /// The resource templates, skills and resources that are withheld.
    pub(crate) unapproved_uris: UnapprovedUris,
    routes: ResourceRoutes,
    listings: BTreeMap<ServerName, Arc<Listing>>,
    /// For each tool that a server lists, the entry that clients get, if any.
    listed: HashMap<ServerName, Vec<Option<Arc<CatalogEntry>>>>,
    /// Built on the first `run_intent` request.
    automatic: OnceLock<AutomaticIntents>,
    skill_index: OnceLock<SkillIndex>,
    /// The guide to the tools behind the search, built with the first list of each caller.
    pub(crate) guides: PerCaller<Option<Arc<str>>>,
}

/// Everything that a catalog is built from.
pub(crate) struct CatalogSources<'a> {
    pub(crate) listings: BTreeMap<ServerName, Arc<Listing>>,
    pub(crate) lock: &'a Lock,
    /// The tools from tool files.
    pub(crate) tool_files: &'a FileTools,
    /// The operator's overrides of tools.
    pub(crate) overrides: &'a BTreeMap<String, ToolOverride>,
    /// The previous catalog of the same configuration. Its unchanged entries are reused.
    pub(crate) before: &'a Catalog,
}

impl Catalog {
    pub(crate) fn build(sources: CatalogSources<'_>) -> Self {
        let CatalogSources {
            listings,
            lock,
            tool_files,
            overrides: declared,
            before,
        } = sources;
        let mut catalog = Self::default();
        for tool in tool_files.iter() {
            let known = before.file_entry(tool);
            catalog.add_file_tool(tool, known, declared);
        }
        for (server, listing) in &listings {
            let judgement = judge_listing(lock, server, listing);
            let known = before.reusable_entries(server, listing);
            catalog.add_listing(server, listing, &judgement, &known, declared);
            catalog.add_unapproved(server, listing, judgement, declared);
        }
        catalog.listings = listings;
        catalog
    }

    /// Tools from files come first, so that they keep their names. An alias from the file leads to
    /// the tool as well, but is not listed.
    fn add_file_tool(
        &mut self,
        tool: &Arc<FileTool>,
        known: Option<&Arc<CatalogEntry>>,
        declared: &BTreeMap<String, ToolOverride>,
    ) {
        let at = self.tools.len();
        let known = known.filter(|it| self.can_reuse(it, declared)).cloned();
        let entry =
            known.or_else(|| self.apply_override(CatalogEntry::from_tool_file(tool), declared));
        self.add_tools(entry);
        if self.tools.len() > at {
            let aliases = tool.file.aliases.iter();
            self.tools_by_name
                .extend(aliases.map(|alias| (alias.to_string(), at)));
        }
    }

    fn add_listing(
        &mut self,
        server: &ServerName,
        listing: &Listing,
        judgement: &Judgement,
        known: &[Option<&Arc<CatalogEntry>>],
        declared: &BTreeMap<String, ToolOverride>,
    ) {
        let offer = listed_offer(listing);
        let judged = judgement.judged(DefinitionKind::Tool, offer).zip(known);
        let mut listed = Vec::with_capacity(listing.tools.len());
        for ((tool, reason), known) in judged {
            let known = known.filter(|it| self.can_reuse(it, declared) && it.has_usual_name());
            let entry = match (reason, known) {
                (Some(_), _) => None,
                (None, Some(known)) => Some(known.clone()),
                (None, None) => expose_name(server, Kind::Tool, tool, &self.tools_by_name)
                    .and_then(|entry| self.apply_override(entry, declared)),
            };
            self.add_tools(entry.clone());
            listed.push(entry);
        }
        self.listed.insert(server.clone(), listed);
        for prompt in judgement.approved(DefinitionKind::Prompt, offer) {
            if let Some(entry) = expose_name(server, Kind::Prompt, prompt, &self.prompts_by_name) {
                let name = entry.exposed.clone();
                self.prompts_by_name.insert(name, self.prompts.len());
                self.prompts.push(Arc::new(entry));
            }
        }
        self.add_uris(server, listing, judgement, offer);
    }

    fn add_uris(
        &mut self,
        server: &ServerName,
        listing: &Listing,
        judgement: &Judgement,
        offer: ListedOffer<'_>,
    ) {
        let approved = |kind| judgement.approved(kind, offer);
        let resources = approved(DefinitionKind::Resource);
        let resources = expose_uris(server, resources, URI);
        self.resources.extend(resources.map(Arc::new));
        let templates = approved(DefinitionKind::ResourceTemplate);
        let templates = expose_uris(server, templates, URI_TEMPLATE);
        self.templates.extend(templates.map(Arc::new));
        let skills = expose_uris(server, approved(DefinitionKind::Skill), URI);
        self.skills.extend(skills.map(Arc::new));
        self.routes.add_server(
            server,
            RawObject::peek_member(&listing.capabilities, "resources").is_some(),
            approved(DefinitionKind::Resource),
            approved(DefinitionKind::ResourceTemplate),
        );
        self.unapproved_uris.add_server(server, judgement, offer);
    }

    /// Applies the operator's override to a tool. Returns `None` for a tool that is hidden from
    /// clients.
    fn apply_override(
        &mut self,
        mut entry: CatalogEntry,
        declared: &BTreeMap<String, ToolOverride>,
    ) -> Option<Arc<CatalogEntry>> {
        if let Some(declared) = declared.get(&entry.plain_name) {
            if declared.hidden {
                self.hidden.insert(entry.plain_name);
                return None;
            }
            let alias = declared.alias.as_ref();
            let free = alias.filter(|alias| !self.tools_by_name.contains_key(*alias));
            entry.apply_override(declared, free);
        }
        Some(Arc::new(entry))
    }

    /// A tool with an alias is also found by its plain name, which programs and templates use.
    fn add_tools(&mut self, entries: impl IntoIterator<Item = Arc<CatalogEntry>>) {
        for entry in entries {
            let at = self.tools.len();
            if entry.exposed != entry.plain_name {
                self.tools_by_name.insert(entry.plain_name.clone(), at);
            }
            self.tools_by_name.insert(entry.exposed.clone(), at);
            self.tools.push(entry);
        }
    }

    /// True if building this entry again would give the same result.
    fn can_reuse(&self, entry: &CatalogEntry, declared: &BTreeMap<String, ToolOverride>) -> bool {
        let is_free = !self.tools_by_name.contains_key(&entry.exposed);
        is_free && entry.exposed == entry.plain_name && !declared.contains_key(&entry.plain_name)
    }

    /// Returns the entry that was built from this tool file.
    fn file_entry(&self, tool: &Arc<FileTool>) -> Option<&Arc<CatalogEntry>> {
        let at = *self.tools_by_name.get(tool.file.name.as_str())?;
        let source = self.tools[at].tool_file.as_ref()?;
        Arc::ptr_eq(source, tool).then(|| &self.tools[at])
    }

    /// Returns for each tool of this listing the entry that was built from the same definition.
    fn reusable_entries(
        &self,
        server: &ServerName,
        listing: &Listing,
    ) -> Vec<Option<&Arc<CatalogEntry>>> {
        let (Some(before), Some(listed)) = (self.listings.get(server), self.listed.get(server))
        else {
            return vec![None; listing.tools.len()];
        };
        let [before, now] = [&before.tools, &listing.tools]
            .map(|tools| tools.iter().map(|it| it.get()).collect::<Vec<_>>());
        let positions = previous_positions(&before, &now).into_iter();
        positions
            .map(|position| listed[position?].as_ref())
            .collect()
    }

    /// Records unapproved tools and prompts. They get the remaining names, so that they cannot take
    /// the name of an approved capability.
    fn add_unapproved(
        &mut self,
        server: &ServerName,
        listing: &Listing,
        judgement: Judgement,
        declared: &BTreeMap<String, ToolOverride>,
    ) {
        let offer = listed_offer(listing);
        for (tool, reason) in judgement.withheld(DefinitionKind::Tool, offer) {
            if let Some(entry) = expose_name(server, Kind::Tool, tool, &self.tools_by_name) {
                self.add_unapproved_tool(entry, reason.clone(), declared);
            }
        }
        for (prompt, reason) in judgement.withheld(DefinitionKind::Prompt, offer) {
            if let Some(entry) = expose_name(server, Kind::Prompt, prompt, &self.prompts_by_name) {
                let reason = reason.clone();
                self.unapproved.add(entry.capability, entry.exposed, reason);
            }
        }
        if !judgement.drifted.is_empty() {
            let drifted = judgement.drifted;
            self.unapproved.drifted.insert(server.clone(), drifted);
        }
    }

    fn add_unapproved_tool(
        &mut self,
        entry: CatalogEntry,
        reason: UnapprovedReason,
        declared: &BTreeMap<String, ToolOverride>,
    ) {
        let declared = declared.get(&entry.plain_name);
        if declared.is_some_and(|declared| declared.hidden) {
            self.hidden.insert(entry.plain_name);
            return;
        }
        if let Some(alias) = declared.and_then(|declared| declared.alias.clone()) {
            self.unapproved
                .add(entry.capability.clone(), alias, reason.clone());
        }
        self.unapproved
            .add(entry.capability.clone(), entry.exposed.clone(), reason);
        self.unapproved_tools.push(Arc::new(entry));
    }

    /// True if a server has a tool of this name, whether clients see it or not.
    pub(crate) fn knows_tool(&self, name: &str) -> bool {
        self.tool(name).is_some()
            || self.unapproved.tool(name).is_some()
            || self.hidden.contains(name)
    }

    /// Returns the intents that simple tools answer. `class` returns the effect of a tool.
    pub(crate) fn automatic_intents(
        &self,
        class: impl Fn(&CatalogEntry) -> WriteClass,
    ) -> &AutomaticIntents {
        self.automatic.get_or_init(|| {
            let named: Vec<(&CatalogEntry, ExposedName, Value)> = self
                .tools
                .iter()
                .filter_map(|it| it.with_input_schema())
                .collect();
            AutomaticIntents::new(
                named
                    .iter()
                    .map(|(entry, exposed, input_schema)| OfferedTool {
                        exposed,
                        server: &entry.capability.server,
                        name: &entry.capability.name,
                        class: class(entry),
                        input_schema,
                    }),
            )
        })
    }

    pub fn tool(&self, exposed: &str) -> Option<&CatalogEntry> {
        self.tools_by_name.get(exposed).map(|at| &*self.tools[*at])
    }

    /// Returns the entry of this tool, under the name by which clients call it.
    pub(crate) fn find_tool(&self, capability: &Capability) -> Option<&CatalogEntry> {
        let usual = ExposedName::new(&capability.server, &capability.name);
        let usual = self.tool(usual.as_str());
        let usual = usual.filter(|entry| entry.capability == *capability);
        // A server may have another tool that took the usual name first.
        let mut tools = self.tools.iter().map(|it| &**it);
        usual.or_else(|| tools.find(|it| it.capability == *capability))
    }

    /// True if a tool or prompt is in the catalog.
    pub(crate) fn contains(&self, capability: &Capability) -> bool {
        if capability.kind == Kind::Tool {
            return self.find_tool(capability).is_some();
        }
        let usual = ExposedName::new(&capability.server, &capability.name);
        let is_it = |entry: &CatalogEntry| entry.capability == *capability;
        self.prompt(usual.as_str()).is_some_and(is_it) || self.prompts.iter().any(|it| is_it(it))
    }

    pub(crate) fn prompt(&self, exposed: &str) -> Option<&CatalogEntry> {
        self.prompts_by_name
            .get(exposed)
            .map(|at| &*self.prompts[*at])
    }

    /// Returns the routes from resource URIs to servers.
    pub(crate) fn routes(&self) -> &ResourceRoutes {
        &self.routes
    }

    /// Returns the definition of a resource or template under the URI by which this caller reaches
    /// it.
    pub(crate) fn resource_definition(
        &self,
        entry: &CatalogEntry,
        is_template: bool,
        visible: Visible<'_>,
    ) -> Raw {
        if !self
            .routes
            .is_marked(&entry.capability, is_template, visible)
        {
            return entry.definition.clone();
        }
        let mut object = RawObject::open(&entry.definition).unwrap_or_default();
        object.put(
            if is_template { URI_TEMPLATE } else { URI },
            &mark_uri(&entry.capability),
        );
        object.to_raw()
    }

    /// Returns everything that one server offers.
    pub(crate) fn entries_of_server(
        &self,
        server: &ServerName,
    ) -> impl Iterator<Item = &CatalogEntry> {
        let resources = [&self.resources, &self.templates, &self.skills];
        let all = [&self.tools, &self.prompts]
            .into_iter()
            .chain(resources)
            .flatten()
            .map(|it| &**it);
        all.filter(move |entry| entry.capability.server == *server)
    }

    /// Returns the skill that contains this file, by the marked URI.
    pub(crate) fn find_skill(&self, uri: &str) -> Option<&CatalogEntry> {
        let (server, own) = parse_marked_uri(uri)?;
        let mut skills = self.skills.iter().map(|it| &**it);
        skills.find(|it| {
            let is_own = it.capability.server == server;
            is_own
                && (it.capability.name == own
                    || Skill::from_entry(it).files.iter().any(|it| it == own))
        })
    }

    /// True if callers get this skill.
    pub(crate) fn has_skill(&self, skill: &Capability) -> bool {
        self.skills.iter().any(|it| it.capability == *skill)
    }

    /// Returns the index of skills, which is built for the first search.
    pub(crate) fn skill_index(&self) -> &SkillIndex {
        self.skill_index
            .get_or_init(|| SkillIndex::new(&self.skills))
    }

    /// Returns the listing of a server from which the catalog was built.
    pub(crate) fn listing(&self, server: &ServerName) -> Option<&Arc<Listing>> {
        self.listings.get(server)
    }

    pub(crate) fn listings(&self) -> impl Iterator<Item = (&ServerName, &Arc<Listing>)> {
        self.listings.iter()
    }
}

#[cfg(test)]
mod tests;
