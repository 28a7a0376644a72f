//! Everything the servers offer, under the names clients see: an immutable snapshot, built
//! anew whenever a listing changes.

use kitbag_domain::WriteClass;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use kitbag_domain::{Capability, ExposedName, Kind, ServerName};
use kitbag_intents::{AutomaticIntents, OfferedTool};
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

use serde_json::Value;

use crate::resources::{ResourceRoutes, Visible, marked};

#[derive(Debug, Default)]
pub struct Catalog {
    pub tools: Vec<CatalogEntry>,
    pub(crate) prompts: Vec<CatalogEntry>,
    pub(crate) resources: Vec<CatalogEntry>,
    pub(crate) templates: Vec<CatalogEntry>,
    tools_by_name: HashMap<String, usize>,
    prompts_by_name: HashMap<String, usize>,
    routes: ResourceRoutes,
    listings: BTreeMap<ServerName, Arc<Listing>>,
    /// Made when the first request in words comes.
    automatic: OnceLock<AutomaticIntents>,
}

/// One thing on offer: what it is, what it is called outside, and its definition, of a tool or
/// prompt with that name put in.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    pub capability: Capability,
    /// The name that clients use; of a resource, the URI with its server's mark, by which the
    /// resource is always found.
    pub(crate) exposed: String,
    pub definition: Raw,
    /// The tags that its server gave it.
    pub(crate) tags: Vec<String>,
}

impl CatalogEntry {
    fn input_schema(&self) -> Value {
        let definition = RawObject::open(&self.definition).unwrap_or_default();
        definition.read("inputSchema").unwrap_or_default()
    }

    fn exposed_name(&self) -> ExposedName {
        ExposedName::new(&self.capability.server, &self.capability.name)
    }

    /// Returns if a tool reads, writes or destroys, as far as its server says.
    pub(crate) fn write_class(&self) -> WriteClass {
        let hints = RawObject::peek(&self.definition, "annotations")
            .and_then(|it| RawObject::open(it).ok());
        let hints = hints.unwrap_or_default();
        WriteClass::from_hints(hints.read("readOnlyHint"), hints.read("destructiveHint"))
    }
}

impl Catalog {
    pub(crate) fn build(listings: BTreeMap<ServerName, Arc<Listing>>) -> Self {
        let mut catalog = Self::default();
        for (server, listing) in &listings {
            catalog.add(server, listing);
        }
        catalog.routes = ResourceRoutes::of(&listings);
        catalog.listings = listings;
        catalog
    }

    fn add(&mut self, server: &ServerName, listing: &Listing) {
        for tool in &listing.tools {
            if let Some(entry) = expose_name(server, Kind::Tool, tool, &self.tools_by_name) {
                let name = entry.exposed.clone();
                self.tools_by_name.insert(name, self.tools.len());
                self.tools.push(entry);
            }
        }
        for prompt in &listing.prompts {
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

    /// Returns the intents that simple tools answer. `class` says what a tool does to the world.
    pub(crate) fn automatic(
        &self,
        class: impl Fn(&CatalogEntry) -> WriteClass,
    ) -> &AutomaticIntents {
        self.automatic.get_or_init(|| {
            let schemas: Vec<Value> = self.tools.iter().map(CatalogEntry::input_schema).collect();
            let names: Vec<ExposedName> =
                self.tools.iter().map(CatalogEntry::exposed_name).collect();
            let tools = self.tools.iter().zip(&names).zip(&schemas);
            AutomaticIntents::of(tools.map(|((entry, exposed), input_schema)| OfferedTool {
                exposed,
                server: &entry.capability.server,
                name: &entry.capability.name,
                class: class(entry),
                input_schema,
            }))
        })
    }

    pub fn tool(&self, exposed: &str) -> Option<&CatalogEntry> {
        self.tools_by_name.get(exposed).map(|at| &self.tools[*at])
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

    pub(crate) fn listings(&self) -> impl Iterator<Item = (&ServerName, &Arc<Listing>)> {
        self.listings.iter()
    }
}

fn expose_name(
    server: &ServerName,
    kind: Kind,
    definition: &Raw,
    taken: &HashMap<String, usize>,
) -> Option<CatalogEntry> {
    let mut object = RawObject::open(definition).ok()?;
    let name: String = object.read("name")?;
    let exposed = free_name(server, &name, taken);
    object.put("name", exposed.as_str());
    let tags = declared_tags(&object);
    Some(CatalogEntry {
        capability: Capability {
            server: server.clone(),
            kind,
            name,
        },
        exposed: exposed.as_str().to_owned(),
        definition: object.to_raw(),
        tags,
    })
}

/// The name for clients, or an alternative to it if it is taken.
fn free_name(server: &ServerName, name: &str, taken: &HashMap<String, usize>) -> ExposedName {
    let mut exposed = ExposedName::new(server, name);
    let mut attempt = 0;
    while taken.contains_key(exposed.as_str()) {
        attempt += 1;
        exposed = ExposedName::alternative(server, name, attempt);
    }
    exposed
}

/// Exposes each URI once, though a server may list it again.
fn expose_uris(
    server: &ServerName,
    definitions: &[Raw],
    field: &str,
) -> impl Iterator<Item = CatalogEntry> {
    let mut seen = HashSet::new();
    definitions
        .iter()
        .filter_map(move |it| expose_uri(server, it, field))
        .filter(move |entry| seen.insert(entry.exposed.clone()))
}

const URI: &str = "uri";
const URI_TEMPLATE: &str = "uriTemplate";

/// URIs stay as they are, because results refer to them. URIs that several servers claim are marked
/// for the callers who see those servers.
fn expose_uri(server: &ServerName, definition: &Raw, field: &str) -> Option<CatalogEntry> {
    let name: String = serde_json::from_str(RawObject::peek(definition, field)?.get()).ok()?;
    let capability = Capability {
        server: server.clone(),
        kind: Kind::Resource,
        name,
    };
    let exposed = marked(&capability);
    Some(CatalogEntry {
        exposed,
        capability,
        definition: definition.clone(),
        tags: Vec::new(),
    })
}

/// Tags where servers put them: FastMCP writes them into `_meta`.
fn declared_tags(definition: &RawObject) -> Vec<String> {
    let meta = definition.object("_meta").unwrap_or_default();
    ["fastmcp", "_fastmcp"]
        .into_iter()
        .find_map(|key| meta.object(key)?.read("tags"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kitbag_wire::{Era, raw};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn listing(tools: &[&str]) -> Arc<Listing> {
        offering(tools, &[], &[])
    }

    fn offering(tools: &[&str], uris: &[&str], templates: &[&str]) -> Arc<Listing> {
        Arc::new(Listing {
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

    fn catalog() -> Catalog {
        Catalog::build(BTreeMap::from([
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
        let built = |_| {
            let listings = BTreeMap::from([("a".parse().unwrap(), offer.clone())]);
            let started = std::time::Instant::now();
            let catalog = Catalog::build(listings);
            assert_eq!(catalog.templates.len(), size);
            started.elapsed()
        };
        (0..3).map(built).min().unwrap()
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
            let listed = |definitions: &[serde_json::Value]| {
                let raws: Vec<Raw> = definitions.iter().map(raw).collect();
                let mut listing = (*listing(&[])).clone();
                (listing.tools, listing.prompts) = (raws.clone(), raws.clone());
                (listing.resources, listing.templates) = (raws.clone(), raws);
                Arc::new(listing)
            };
            let catalog = Catalog::build(BTreeMap::from([
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
    fn definition() -> impl Strategy<Value = serde_json::Value> {
        let name = prop_oneof!["[a-c]{1,2}", "(?s).{0,80}", "[a-z_]{60,90}"];
        let member = prop_oneof![
            name.clone().prop_map(serde_json::Value::from),
            Just(json!(null)),
            Just(json!(["x"])),
            "[a-z]{1,3}://[a-z{}+]{0,12}".prop_map(serde_json::Value::from),
        ];
        prop_oneof![
            name.prop_map(|name| json!({ "name": name, "inputSchema": {} })),
            proptest::collection::btree_map("name|uri|uriTemplate|_meta", member.clone(), 0..4)
                .prop_map(|members| json!(members)),
            member,
        ]
    }
}
