//! Everything the servers offer, under the names clients see: an immutable snapshot, built
//! anew whenever a listing changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kitbag_domain::{Capability, ExposedName, Kind, ServerName, ShortText};
use kitbag_relevance::WriteClass;
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

use crate::template::UriTemplate;

#[derive(Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) tools: Vec<Entry>,
    pub(crate) prompts: Vec<Entry>,
    pub(crate) resources: Vec<Entry>,
    pub(crate) templates: Vec<Entry>,
    tools_by_name: HashMap<String, usize>,
    prompts_by_name: HashMap<String, usize>,
    resources_by_uri: HashMap<String, usize>,
    matchers: Vec<(UriTemplate, usize)>,
    listings: BTreeMap<ServerName, Arc<Listing>>,
}

/// One thing on offer: what it is, what it is called outside, and its definition with that
/// name put in.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) capability: Capability,
    pub(crate) exposed: String,
    pub(crate) definition: Raw,
    /// What its server filed it under.
    pub(crate) tags: Vec<String>,
}

impl Entry {
    /// What a tool does to the world, as far as its server says.
    pub(crate) fn write_class(&self) -> WriteClass {
        let hints = RawObject::peek(&self.definition, "annotations").and_then(|it| RawObject::open(it).ok());
        let hints = hints.unwrap_or_default();
        WriteClass::from_hints(hints.read("readOnlyHint"), hints.read("destructiveHint"))
    }
}

impl Catalog {
    pub(crate) fn build(listings: BTreeMap<ServerName, Arc<Listing>>) -> Self {
        let mut catalog = Self::default();
        for (server, listing) in &listings {
            let named = |kind, name: String| Capability { server: server.clone(), kind, name };
            for tool in &listing.tools {
                let taken = |name: &str| catalog.tools_by_name.contains_key(name);
                if let Some(entry) = expose_name(named, Kind::Tool, tool, taken) {
                    catalog.tools_by_name.insert(entry.exposed.clone(), catalog.tools.len());
                    catalog.tools.push(entry);
                }
            }
            for prompt in &listing.prompts {
                let taken = |name: &str| catalog.prompts_by_name.contains_key(name);
                if let Some(entry) = expose_name(named, Kind::Prompt, prompt, taken) {
                    catalog.prompts_by_name.insert(entry.exposed.clone(), catalog.prompts.len());
                    catalog.prompts.push(entry);
                }
            }
            for resource in &listing.resources {
                let taken = |uri: &str| catalog.resources_by_uri.contains_key(uri);
                if let Some(entry) = expose_uri(named, resource, "uri", taken) {
                    catalog.resources_by_uri.insert(entry.exposed.clone(), catalog.resources.len());
                    catalog.resources.push(entry);
                }
            }
            for template in &listing.templates {
                let taken = |uri: &str| catalog.templates.iter().any(|entry| entry.exposed == uri);
                if let Some(entry) = expose_uri(named, template, "uriTemplate", taken) {
                    catalog.matchers.push((UriTemplate::parse(&entry.exposed), catalog.templates.len()));
                    catalog.templates.push(entry);
                }
            }
        }
        catalog.listings = listings;
        catalog
    }

    pub(crate) fn tool(&self, exposed: &str) -> Option<&Entry> {
        self.tools_by_name.get(exposed).map(|at| &self.tools[*at])
    }

    pub(crate) fn prompt(&self, exposed: &str) -> Option<&Entry> {
        self.prompts_by_name.get(exposed).map(|at| &self.prompts[*at])
    }

    /// The owner of a resource: the server that lists it, or else the one whose template it
    /// fits; with a single server that has resources, that one.
    pub(crate) fn resource(&self, uri: &str) -> Option<Capability> {
        if let Some(at) = self.resources_by_uri.get(uri) {
            return Some(self.resources[*at].capability.clone());
        }
        let (server, own) = match foreign(uri) {
            Some((server, own)) => (Some(self.listings.get_key_value(&server)?.0.clone()), own),
            None => {
                let fits = self.matchers.iter().find(|(template, _)| template.matches(uri));
                (fits.map(|(_, at)| self.templates[*at].capability.server.clone()), uri)
            }
        };
        let server = server.or_else(|| self.sole_resource_server())?;
        Some(Capability { server, kind: Kind::Resource, name: own.to_owned() })
    }

    /// The owner of a template that a completion is asked for.
    pub(crate) fn template(&self, exposed: &str) -> Option<&Entry> {
        self.templates.iter().find(|entry| entry.exposed == exposed)
    }

    /// What a server's own URI is called outside.
    pub(crate) fn exposed_uri(&self, server: &ServerName, uri: &str) -> String {
        let entry =
            self.resources.iter().find(|it| it.capability.server == *server && it.capability.name == uri);
        entry.map_or_else(|| uri.to_owned(), |entry| entry.exposed.clone())
    }

    /// Everything that one server has on offer.
    pub(crate) fn of_server(&self, server: &ServerName) -> impl Iterator<Item = &Entry> {
        let all = [&self.tools, &self.prompts, &self.resources, &self.templates].into_iter().flatten();
        all.filter(move |entry| entry.capability.server == *server)
    }

    pub(crate) fn listings(&self) -> impl Iterator<Item = (&ServerName, &Arc<Listing>)> {
        self.listings.iter()
    }

    fn sole_resource_server(&self) -> Option<ServerName> {
        let mut with_resources = self.listings.iter().filter(|(_, listing)| {
            RawObject::open(&listing.capabilities)
                .is_ok_and(|capabilities| capabilities.contains("resources"))
        });
        match (with_resources.next(), with_resources.next()) {
            (Some((server, _)), None) => Some(server.clone()),
            _ => None,
        }
    }
}

fn expose_name(
    named: impl Fn(Kind, String) -> Capability,
    kind: Kind,
    definition: &Raw,
    taken: impl Fn(&str) -> bool,
) -> Option<Entry> {
    let mut object = RawObject::open(definition).ok()?;
    let capability = named(kind, object.read("name")?);
    let mut exposed = ExposedName::new(&capability.server, &capability.name);
    let mut attempt = 0;
    while taken(exposed.as_str()) {
        attempt += 1;
        exposed = ExposedName::alternative(&capability.server, &capability.name, attempt);
    }
    object.put("name", exposed.as_str());
    let tags = declared_tags(&object);
    Some(Entry { capability, exposed: exposed.as_str().to_owned(), definition: object.to_raw(), tags })
}

/// URIs stay as they are, because results refer to them; only one that another server has
/// already is marked with its server.
fn expose_uri(
    named: impl Fn(Kind, String) -> Capability,
    definition: &Raw,
    field: &str,
    taken: impl Fn(&str) -> bool,
) -> Option<Entry> {
    let mut object = RawObject::open(definition).ok()?;
    let capability = named(Kind::Resource, object.read(field)?);
    if !taken(&capability.name) {
        let (exposed, definition) = (capability.name.clone(), definition.clone());
        return Some(Entry { exposed, capability, definition, tags: Vec::new() });
    }
    let exposed = format!("{FOREIGN}{}/{}", capability.server, capability.name);
    object.put(field, &exposed);
    Some(Entry { capability, exposed, definition: object.to_raw(), tags: Vec::new() })
}

/// Tags where servers put them: FastMCP writes them into `_meta`.
fn declared_tags(definition: &RawObject) -> Vec<String> {
    let meta = definition.object("_meta").unwrap_or_default();
    ["fastmcp", "_fastmcp"].into_iter().find_map(|key| meta.object(key)?.read("tags")).unwrap_or_default()
}

const FOREIGN: &str = "kitbag://server/";

fn foreign(uri: &str) -> Option<(ServerName, &str)> {
    let (server, own) = uri.strip_prefix(FOREIGN)?.split_once('/')?;
    Some((server.parse().ok()?, own))
}

/// Names like the one somebody asked for in vain.
pub(crate) fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // To compare texts takes time that grows with the square of their length, and a client chooses
    // how long they are. Nobody mistypes a name as long as this.
    let short = |name: &str| name.len() <= ShortText::MAX;
    if !short(name) {
        return Vec::new();
    }
    let split = name.split_once("__");
    let mut scored: Vec<_> = names
        .filter(|candidate| short(candidate))
        .map(|candidate| {
            let (owner, tail) = candidate.split_once("__").unwrap_or(("", candidate));
            let score = match split {
                // The right server with a slip in the tool's name is likelier than the reverse.
                Some((server, wanted)) => {
                    strsim::jaro_winkler(wanted, tail) + if server == owner { 0.05 } else { 0.0 }
                }
                None => strsim::jaro_winkler(name, candidate).max(strsim::jaro_winkler(name, tail)),
            };
            (score, candidate)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use kitbag_wire::{Era, raw};
    use serde_json::json;

    use super::*;

    fn listing(tools: &[&str], resources: &[&str], templates: &[&str]) -> Arc<Listing> {
        Arc::new(Listing {
            era: Era::Legacy,
            version: "2025-11-25".to_owned(),
            capabilities: raw(&json!({ "tools": {}, "resources": {} })),
            server_info: None,
            instructions: None,
            tools: tools.iter().map(|name| raw(&json!({ "vendor": 1, "name": name }))).collect(),
            prompts: Vec::new(),
            resources: resources.iter().map(|uri| raw(&json!({ "uri": uri }))).collect(),
            templates: templates.iter().map(|uri| raw(&json!({ "uriTemplate": uri }))).collect(),
            problems: Vec::new(),
        })
    }

    fn catalog() -> Catalog {
        Catalog::build(BTreeMap::from([
            ("a".parse().unwrap(), listing(&["search", "get"], &["file:///x"], &["file:///{path}"])),
            ("b".parse().unwrap(), listing(&["search"], &["file:///x"], &["db://{table}/row/{id}"])),
        ]))
    }

    #[test]
    fn the_same_tool_name_on_two_servers_stays_two_tools() {
        let catalog = catalog();
        let names: Vec<_> = catalog.tools.iter().map(|entry| entry.exposed.as_str()).collect();
        assert_eq!(names, ["a__search", "a__get", "b__search"]);
        assert_eq!(catalog.tool("b__search").unwrap().capability.server.as_str(), "b");
        assert_eq!(catalog.tools[0].definition.get(), r#"{"vendor":1,"name":"a__search"}"#);
    }

    #[track_caller]
    fn check_owner(uri: &str, server: &str, own: &str) {
        let owner = catalog().resource(uri).unwrap();
        assert_eq!((owner.server.as_str(), owner.name.as_str()), (server, own));
    }

    #[test]
    fn a_resource_is_read_from_the_server_that_has_it() {
        check_owner("file:///x", "a", "file:///x");
        check_owner("kitbag://server/b/file:///x", "b", "file:///x");
        check_owner("file:///other", "a", "file:///other");
        check_owner("db://users/row/7", "b", "db://users/row/7");
        assert!(catalog().resource("http://elsewhere").is_none());
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbours() {
        let names = ["a__search", "a__get", "b__search"];
        assert_eq!(near("serch", names.into_iter()), ["a__search", "b__search"]);
        let long = "serch".repeat(1_000_000);
        assert_eq!(near(&long, names.into_iter()), [""; 0], "at once");
    }
}
