//! One capability of a server, under its name for clients and with the operator's overrides.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kitbag_config::ToolOverride;
use kitbag_domain::{
    Capability, DescribedTool, ExposedName, Kind, ServerName, WriteClass, derived_effect,
};
use kitbag_schema::DefinitionOverride;
use kitbag_wire::{Raw, RawObject};
use serde_json::Value;

use crate::catalog::resources::mark_uri;
use crate::catalog::tool_files::{self, FileTool};

/// One capability: its identity, its name for clients, and its definition, which for tools and
/// prompts contains that name.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    pub capability: Capability,
    /// The name that clients use; for a resource, the marked URI, which always leads to its server.
    pub(crate) exposed: String,
    /// The name without an alias, as used in the configuration.
    pub(crate) plain_name: String,
    pub definition: Raw,
    /// The tags from its server.
    pub(crate) tags: Vec<String>,
    /// The effect of a tool: from its server's hints, or else guessed from its definition.
    pub(crate) write_class: WriteClass,
    /// True if the server gives no hints about the tool's effect.
    pub(crate) lacks_hints: bool,
    /// The tool file that it comes from; absent for a server's capability.
    pub(crate) tool_file: Option<Arc<FileTool>>,
}

impl CatalogEntry {
    /// A tool that comes from a file.
    pub(crate) fn from_tool_file(tool: &Arc<FileTool>) -> Self {
        let file = &tool.file;
        Self {
            capability: Capability::tool(tool_files::tool_files_server(), file.name.as_str()),
            exposed: file.name.to_string(),
            plain_name: file.name.to_string(),
            definition: tool.definition.clone(),
            tags: file.tags.clone(),
            write_class: file.write_class(),
            lacks_hints: false,
            tool_file: Some(tool.clone()),
        }
    }

    /// Returns the server or API behind it, by the name that users know.
    pub(crate) fn server_or_provider(&self) -> &str {
        match &self.tool_file {
            Some(tool) => &tool.file.provider,
            None => self.capability.server.as_str(),
        }
    }

    /// True if the name is derived only from the server's name and the capability's own name.
    pub(crate) fn has_usual_name(&self) -> bool {
        let usual = ExposedName::new(&self.capability.server, &self.capability.name);
        usual.as_str() == self.plain_name
    }

    pub(crate) fn input_schema(&self) -> Value {
        let definition = RawObject::open(&self.definition).unwrap_or_default();
        definition.read("inputSchema").unwrap_or_default()
    }

    /// Applies the operator's override, with an alias that no other tool has.
    pub(crate) fn apply_override(&mut self, declared: &ToolOverride, alias: Option<&String>) {
        let Ok(mut object) = RawObject::open(&self.definition) else {
            return;
        };
        definition_override(declared).apply(&mut object);
        if let Some(alias) = alias {
            self.exposed.clone_from(alias);
            object.put("name", alias);
        }
        self.definition = object.to_raw();
    }

    /// Returns a tool with its name and schema, unless the name was taken and clients use another
    /// one.
    pub(crate) fn with_input_schema(&self) -> Option<(&Self, ExposedName, Value)> {
        let name = ExposedName::new(&self.capability.server, &self.capability.name);
        (name.as_str() == self.exposed).then(|| (self, name, self.input_schema()))
    }
}

/// Returns the part of an override that changes a definition.
pub(crate) fn definition_override(declared: &ToolOverride) -> DefinitionOverride<'_> {
    DefinitionOverride {
        description: declared.description.as_deref(),
        fixed: &declared.fixed_arguments,
        hidden: &declared.hidden_arguments,
    }
}

pub(crate) fn expose_name(
    server: &ServerName,
    kind: Kind,
    definition: &Raw,
    taken: &HashMap<String, usize>,
) -> Option<CatalogEntry> {
    let mut object = RawObject::open(definition).ok()?;
    let name: String = object.read("name")?;
    let exposed = free_name(server, &name, taken);
    object.put("name", exposed.as_str());
    let tags = fastmcp_tags(&object);
    let effect = ToolEffect::for_tool(server, &name, &object);
    Some(CatalogEntry {
        write_class: effect.class,
        lacks_hints: kind == Kind::Tool && effect.lacks_hints,
        capability: Capability {
            server: server.clone(),
            kind,
            name,
        },
        exposed: exposed.as_str().to_owned(),
        plain_name: exposed.as_str().to_owned(),
        definition: object.to_raw(),
        tags,
        tool_file: None,
    })
}

/// The effect of a tool, and whether its server gives no hints about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolEffect {
    pub(crate) class: WriteClass,
    pub(crate) lacks_hints: bool,
}

impl ToolEffect {
    /// Reads the hints of a definition; without hints, the definition's text decides whether the
    /// tool only reads.
    pub(crate) fn for_tool(server: &ServerName, name: &str, definition: &RawObject) -> Self {
        let hints = definition.get_object("annotations").unwrap_or_default();
        let class =
            WriteClass::from_hints(hints.read("readOnlyHint"), hints.read("destructiveHint"));
        let lacks_hints = class == WriteClass::Unknown;
        let class = match lacks_hints && only_reads(server, name, definition) {
            true => WriteClass::Read,
            false => class,
        };
        Self { class, lacks_hints }
    }
}

fn only_reads(server: &ServerName, name: &str, definition: &RawObject) -> bool {
    let description: String = definition.read("description").unwrap_or_default();
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    let properties = schema["properties"].as_object();
    let parameters = properties.into_iter().flat_map(|it| it.keys());
    derived_effect::only_reads(&DescribedTool {
        server: server.as_str(),
        name,
        description: &description,
        parameters: &parameters.map(String::as_str).collect::<Vec<_>>(),
    })
}

/// Returns the name for clients, or an alternative if another entry has the same name.
fn free_name(server: &ServerName, name: &str, taken: &HashMap<String, usize>) -> ExposedName {
    let mut exposed = ExposedName::new(server, name);
    let mut attempt = 0;
    while taken.contains_key(exposed.as_str()) {
        attempt += 1;
        exposed = ExposedName::alternative(server, name, attempt);
    }
    exposed
}

/// Exposes each URI once, even if a server lists it repeatedly.
pub(crate) fn expose_uris<'a>(
    server: &ServerName,
    definitions: impl Iterator<Item = &'a Raw>,
    field: &str,
) -> impl Iterator<Item = CatalogEntry> {
    let mut seen = HashSet::new();
    definitions
        .filter_map(move |it| expose_uri(server, it, field))
        .filter(move |entry| seen.insert(entry.exposed.clone()))
}

pub(crate) const URI: &str = "uri";
pub(crate) const URI_TEMPLATE: &str = "uriTemplate";

/// URIs are not renamed, because results refer to them. URIs that several servers claim are marked
/// for the callers who see those servers.
fn expose_uri(server: &ServerName, definition: &Raw, field: &str) -> Option<CatalogEntry> {
    let name: String =
        serde_json::from_str(RawObject::peek_member(definition, field)?.get()).ok()?;
    let capability = Capability {
        server: server.clone(),
        kind: Kind::Resource,
        name,
    };
    let exposed = mark_uri(&capability);
    Some(CatalogEntry {
        plain_name: exposed.clone(),
        exposed,
        capability,
        definition: definition.clone(),
        tags: Vec::new(),
        write_class: WriteClass::Read,
        lacks_hints: false,
        tool_file: None,
    })
}

/// Tags in FastMCP's format: it writes them into `_meta`.
fn fastmcp_tags(definition: &RawObject) -> Vec<String> {
    let meta = definition.get_object("_meta").unwrap_or_default();
    ["fastmcp", "_fastmcp"]
        .into_iter()
        .find_map(|key| meta.get_object(key)?.read("tags"))
        .unwrap_or_default()
}
