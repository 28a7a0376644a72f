//! Everything the servers offer, under the names clients see: an immutable snapshot, built
//! anew whenever a listing changes.

use kitbag_domain::WriteClass;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use kitbag_config::{DeclaredTool, Lock};
use kitbag_domain::{Capability, ExposedName, Kind, ServerName};
use kitbag_intents::{AutomaticIntents, OfferedTool};
use kitbag_lockfile::{HeldEntries, HeldReason, Judgement};
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

use serde_json::Value;

pub use crate::catalog_entry::CatalogEntry;
use crate::catalog_entry::{URI, URI_TEMPLATE, expose_name, expose_uris};
use crate::drift::judge;
use crate::per_caller::PerCaller;
use crate::resources::{ResourceRoutes, Visible, marked};
use crate::tool_files::{FileTool, FileTools};

#[derive(Debug, Default)]
pub struct Catalog {
    pub tools: Vec<CatalogEntry>,
    pub(crate) prompts: Vec<CatalogEntry>,
    pub(crate) resources: Vec<CatalogEntry>,
    pub(crate) templates: Vec<CatalogEntry>,
    tools_by_name: HashMap<String, usize>,
    prompts_by_name: HashMap<String, usize>,
    /// The plain names of tools that the operator shows to no client.
    hidden: HashSet<String>,
    /// The tools and prompts that are kept from callers.
    pub(crate) held: HeldEntries,
    /// The tools among those. A search counts them, and shows none.
    pub(crate) held_tools: Vec<CatalogEntry>,
    routes: ResourceRoutes,
    listings: BTreeMap<ServerName, Arc<Listing>>,
    /// Made when the first request in words comes.
    automatic: OnceLock<AutomaticIntents>,
    /// The words for what stands behind the search, made with the first list of each caller.
    pub(crate) guides: PerCaller<Option<Arc<str>>>,
}

/// Everything that a catalog is built from.
pub(crate) struct CatalogSources<'a> {
    pub(crate) listings: BTreeMap<ServerName, Arc<Listing>>,
    pub(crate) lock: &'a Lock,
    /// The tools that come from files.
    pub(crate) tool_files: &'a FileTools,
    /// The form that the operator wants tools to have.
    pub(crate) declared: &'a BTreeMap<String, DeclaredTool>,
}

impl Catalog {
    pub(crate) fn build(sources: CatalogSources<'_>) -> Self {
        let CatalogSources {
            listings,
            lock,
            tool_files,
            declared,
        } = sources;
        let mut catalog = Self::default();
        for tool in tool_files.iter() {
            catalog.add_file_tool(tool, declared);
        }
        for (server, listing) in &listings {
            let judgement = judge(lock, server, listing);
            catalog.add(server, listing, &judgement, declared);
            catalog.hold(server, listing, judgement, declared);
        }
        catalog.routes = ResourceRoutes::of(&listings);
        catalog.listings = listings;
        catalog
    }

    /// Tools of files come first, so that their names are theirs. An alias of the file leads to the tool
    /// as well, and is not listed.
    fn add_file_tool(&mut self, tool: &Arc<FileTool>, declared: &BTreeMap<String, DeclaredTool>) {
        let at = self.tools.len();
        self.add_tool(CatalogEntry::of_file(tool), declared);
        if self.tools.len() > at {
            let aliases = tool.file.aliases.iter();
            self.tools_by_name
                .extend(aliases.map(|alias| (alias.to_string(), at)));
        }
    }

    fn add(
        &mut self,
        server: &ServerName,
        listing: &Listing,
        judgement: &Judgement,
        declared: &BTreeMap<String, DeclaredTool>,
    ) {
        for tool in passing(&listing.tools, &judgement.tools) {
            if let Some(entry) = expose_name(server, Kind::Tool, tool, &self.tools_by_name) {
                self.add_tool(entry, declared);
            }
        }
        for prompt in passing(&listing.prompts, &judgement.prompts) {
            if let Some(entry) = expose_name(server, Kind::Prompt, prompt, &self.prompts_by_name) {
                let name = entry.exposed.clone();
                self.prompts_by_name.insert(name, self.prompts.len());
                self.prompts.push(entry);
            }
        }
        let resources = expose_uris(server, &listing.resources, URI);
        self.resources.extend(resources);
        let templates = expose_uris(server, &listing.templates, URI_TEMPLATE);
        self.templates.extend(templates);
    }

    /// A tool with an alias is still found by its plain name: programs and templates have that.
    fn add_tool(&mut self, mut entry: CatalogEntry, declared: &BTreeMap<String, DeclaredTool>) {
        if let Some(declared) = declared.get(&entry.plain_name) {
            if declared.hidden {
                self.hidden.insert(entry.plain_name);
                return;
            }
            let alias = declared.alias.as_ref();
            let free = alias.filter(|alias| !self.tools_by_name.contains_key(*alias));
            entry.take_form(declared, free);
        }
        let at = self.tools.len();
        self.tools_by_name.insert(entry.plain_name.clone(), at);
        self.tools_by_name.insert(entry.exposed.clone(), at);
        self.tools.push(entry);
    }

    /// Takes note of what is kept from callers. It gets the names that are left, so that it cannot take
    /// the name of something that was approved.
    fn hold(
        &mut self,
        server: &ServerName,
        listing: &Listing,
        judgement: Judgement,
        declared: &BTreeMap<String, DeclaredTool>,
    ) {
        let tools = listing.tools.iter().zip(judgement.tools);
        for (tool, reason) in tools.filter_map(|(it, reason)| Some((it, reason?))) {
            if let Some(entry) = expose_name(server, Kind::Tool, tool, &self.tools_by_name) {
                self.hold_tool(entry, reason, declared);
            }
        }
        let prompts = listing.prompts.iter().zip(judgement.prompts);
        for (prompt, reason) in prompts.filter_map(|(it, reason)| Some((it, reason?))) {
            if let Some(entry) = expose_name(server, Kind::Prompt, prompt, &self.prompts_by_name) {
                self.held.add(entry.capability, entry.exposed, reason);
            }
        }
        if !judgement.drifted.is_empty() {
            let drifted = judgement.drifted;
            self.held.drifted.insert(server.clone(), drifted);
        }
    }

    fn hold_tool(
        &mut self,
        entry: CatalogEntry,
        reason: HeldReason,
        declared: &BTreeMap<String, DeclaredTool>,
    ) {
        let declared = declared.get(&entry.plain_name);
        if declared.is_some_and(|declared| declared.hidden) {
            self.hidden.insert(entry.plain_name);
            return;
        }
        if let Some(alias) = declared.and_then(|declared| declared.alias.clone()) {
            self.held
                .add(entry.capability.clone(), alias, reason.clone());
        }
        self.held
            .add(entry.capability.clone(), entry.exposed.clone(), reason);
        self.held_tools.push(entry);
    }

    /// True if a server has a tool of this name, whether clients get it or not.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.tool(name).is_some() || self.held.tool(name).is_some() || self.hidden.contains(name)
    }

    /// Returns the intents that simple tools answer. `class` says what a tool does to the world.
    pub(crate) fn automatic(
        &self,
        class: impl Fn(&CatalogEntry) -> WriteClass,
    ) -> &AutomaticIntents {
        self.automatic.get_or_init(|| {
            let named: Vec<(&CatalogEntry, ExposedName, Value)> =
                self.tools.iter().filter_map(CatalogEntry::named).collect();
            AutomaticIntents::of(
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
        self.tools_by_name.get(exposed).map(|at| &self.tools[*at])
    }

    /// Returns the tool that is this capability, under the name by which clients call it.
    pub(crate) fn tool_of(&self, capability: &Capability) -> Option<&CatalogEntry> {
        let usual = ExposedName::new(&capability.server, &capability.name);
        let usual = self.tool(usual.as_str());
        let usual = usual.filter(|entry| entry.capability == *capability);
        // A server may have another tool that took the usual name first.
        usual.or_else(|| self.tools.iter().find(|it| it.capability == *capability))
    }

    /// True if a tool or prompt is in the catalog.
    pub(crate) fn has(&self, capability: &Capability) -> bool {
        if capability.kind == Kind::Tool {
            return self.tool_of(capability).is_some();
        }
        let usual = ExposedName::new(&capability.server, &capability.name);
        let is_it = |entry: &CatalogEntry| entry.capability == *capability;
        self.prompt(usual.as_str()).is_some_and(is_it) || self.prompts.iter().any(is_it)
    }

    pub(crate) fn prompt(&self, exposed: &str) -> Option<&CatalogEntry> {
        self.prompts_by_name
            .get(exposed)
            .map(|at| &self.prompts[*at])
    }

    /// Returns the servers to which the URIs of resources lead.
    pub(crate) fn routes(&self) -> &ResourceRoutes {
        &self.routes
    }

    /// The definition of a resource or template under the URI by which this caller reaches it.
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
            &marked(&entry.capability),
        );
        object.to_raw()
    }

    /// Returns everything that one server offers.
    pub(crate) fn of_server(&self, server: &ServerName) -> impl Iterator<Item = &CatalogEntry> {
        let all = [&self.tools, &self.prompts, &self.resources, &self.templates]
            .into_iter()
            .flatten();
        all.filter(move |entry| entry.capability.server == *server)
    }

    /// Returns the lists of a server that it was built of.
    pub(crate) fn listing(&self, server: &ServerName) -> Option<&Arc<Listing>> {
        self.listings.get(server)
    }

    pub(crate) fn listings(&self) -> impl Iterator<Item = (&ServerName, &Arc<Listing>)> {
        self.listings.iter()
    }
}

/// The definitions that nothing holds back.
fn passing<'a>(
    definitions: &'a [Raw],
    held: &'a [Option<HeldReason>],
) -> impl Iterator<Item = &'a Raw> {
    let judged = definitions.iter().zip(held);
    judged.filter_map(|(definition, held)| held.is_none().then_some(definition))
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Timestamp;
    use kitbag_wire::{Era, raw};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn listing(tools: &[&str]) -> Arc<Listing> {
        offering(tools, &[], &[])
    }

    fn offering(tools: &[&str], uris: &[&str], templates: &[&str]) -> Arc<Listing> {
        Arc::new(Listing {
            listed_at: Timestamp::default(),
            era: Era::Legacy,
            version: "2025-11-25".to_owned(),
            capabilities: raw(&json!({ "tools": {}, "resources": {} })),
            server_info: None,
            instructions: None,
            tools: tools
                .iter()
                .map(|name| raw(&json!({ "vendor": 1, "name": name })))
                .collect(),
            prompts: Vec::new(),
            resources: uris.iter().map(|uri| raw(&json!({ URI: uri }))).collect(),
            templates: templates
                .iter()
                .map(|uri| raw(&json!({ URI_TEMPLATE: uri })))
                .collect(),
            problems: Vec::new(),
        })
    }

    fn built(listings: BTreeMap<ServerName, Arc<Listing>>) -> Catalog {
        Catalog::build(CatalogSources {
            listings,
            lock: &Lock::default(),
            tool_files: &FileTools::default(),
            declared: &BTreeMap::new(),
        })
    }

    fn catalog() -> Catalog {
        built(BTreeMap::from([
            ("a".parse().unwrap(), listing(&["search", "get"])),
            ("b".parse().unwrap(), listing(&["search"])),
        ]))
    }

    #[test]
    fn the_same_tool_name_on_two_servers_stays_two_tools() {
        let catalog = catalog();
        let names: Vec<_> = catalog
            .tools
            .iter()
            .map(|entry| entry.exposed.as_str())
            .collect();
        assert_eq!(names, ["a__search", "a__get", "b__search"]);
        assert_eq!(
            catalog
                .tool("b__search")
                .unwrap()
                .capability
                .server
                .as_str(),
            "b"
        );
        assert_eq!(
            catalog.tools[0].definition.get(),
            r#"{"vendor":1,"name":"a__search"}"#
        );
    }

    fn borrowed(texts: &[String]) -> Vec<&str> {
        texts.iter().map(String::as_str).collect()
    }

    /// Returns the time of the fastest of a few builds, with this many of everything.
    fn build_time(size: usize) -> std::time::Duration {
        let texts = |what: &str| {
            (0..size)
                .map(|it| format!("{what}{it}"))
                .collect::<Vec<_>>()
        };
        let (tools, uris, templates) = (texts("t"), texts("mem://"), texts("mem://{x}/"));
        let offer = offering(&borrowed(&tools), &borrowed(&uris), &borrowed(&templates));
        let timed = |_| {
            let listings = BTreeMap::from([("a".parse().unwrap(), offer.clone())]);
            let started = std::time::Instant::now();
            let catalog = built(listings);
            assert_eq!(catalog.templates.len(), size);
            started.elapsed()
        };
        (0..3).map(timed).min().unwrap()
    }

    #[test]
    fn building_takes_as_long_as_there_is_to_build() {
        let (small, large) = (build_time(2_500), build_time(10_000));
        // Four times as many entries take four times as long, or sixteen times if each entry looked
        // at all others.
        assert!(
            large < small * 10,
            "{small:?} for 2,500 of everything, {large:?} for 10,000"
        );
    }

    proptest! {
        #[test]
        fn whatever_servers_list_every_name_is_unique_short_and_finds_its_tool(
            first in proptest::collection::vec(definition(), 0..12),
            second in proptest::collection::vec(definition(), 0..12),
        ) {
            let listed = |definitions: &[Value]| {
                let raws: Vec<Raw> = definitions.iter().map(raw).collect();
                let mut listing = (*listing(&[])).clone();
                (listing.tools, listing.prompts) = (raws.clone(), raws.clone());
                (listing.resources, listing.templates) = (raws.clone(), raws);
                Arc::new(listing)
            };
            let catalog = built(BTreeMap::from([
                ("a".parse().unwrap(), listed(&first)),
                ("a-b".parse().unwrap(), listed(&second)),
            ]));
            let names: HashSet<&str> = catalog.tools.iter().map(|it| it.exposed.as_str()).collect();
            prop_assert_eq!(names.len(), catalog.tools.len());
            for entry in &catalog.tools {
                prop_assert!(entry.exposed.len() <= 64, "{}", entry.exposed);
                let found = catalog.tool(&entry.exposed).map(|it| &it.capability);
                prop_assert_eq!(found, Some(&entry.capability));
            }
        }
    }

    /// Generates what a server may list: definitions, halves of definitions, and no definitions at
    /// all.
    fn definition() -> impl Strategy<Value = Value> {
        let name = prop_oneof!["[a-c]{1,2}", "(?s).{0,80}", "[a-z_]{60,90}"];
        let member = prop_oneof![
            name.clone().prop_map(Value::from),
            Just(json!(null)),
            Just(json!(["x"])),
            "[a-z]{1,3}://[a-z{}+]{0,12}".prop_map(Value::from),
        ];
        prop_oneof![
            name.prop_map(|name| json!({ "name": name, "inputSchema": {} })),
            proptest::collection::btree_map("name|uri|uriTemplate|_meta", member.clone(), 0..4)
                .prop_map(|members| json!(members)),
            member,
        ]
    }
}
