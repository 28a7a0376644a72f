//! The offers of all servers as rows of a table, as a client at this machine sees them.

use std::sync::Arc;

use kitbag_domain::{Caller, Capability, ServerName};
use kitbag_policy::Policy;
use kitbag_wire::{Raw, RawObject};
use serde::{Deserialize, Serialize};

use crate::catalog::prompts::{self, PromptArgument};
use crate::catalog::skills::Skill;
use crate::catalog::{Catalog, CatalogEntry};

#[derive(Debug, Serialize, Deserialize)]
pub struct ToolRow {
    pub name: String,
    pub server: ServerName,
    pub tool: String,
    pub description: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PromptRow {
    pub name: String,
    pub server: ServerName,
    pub prompt: String,
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
}

/// A resource, or a template that becomes one with values in place of the names in braces.
#[derive(Debug, Serialize, Deserialize)]
pub struct ResourceRow {
    pub uri: String,
    pub template: bool,
    pub server: ServerName,
    pub name: Option<String>,
    pub mime_type: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SkillRow {
    /// The URI of its `SKILL.md`, with the mark of its server.
    pub uri: String,
    pub server: ServerName,
    pub name: String,
    pub description: String,
    /// The number of its files; absent if they are made when they are read.
    pub files: Option<usize>,
}

/// The tools a local client sees, as far as they are known.
pub fn tools(catalog: &Catalog, policy: &Policy) -> Vec<ToolRow> {
    visible(&catalog.tools, policy)
        .map(|entry| ToolRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            tool: entry.capability.name.clone(),
            description: told(&entry.definition, &["description"]),
        })
        .collect()
}

/// The prompts a local client sees, as far as they are known.
pub fn prompts(catalog: &Catalog, policy: &Policy) -> Vec<PromptRow> {
    visible(&catalog.prompts, policy)
        .map(|entry| PromptRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            prompt: entry.capability.name.clone(),
            description: told(&entry.definition, &["description", "title"]),
            arguments: prompts::arguments(&entry.definition),
        })
        .collect()
}

/// The resources a local client sees, as far as they are known, then the templates.
pub fn resources(catalog: &Catalog, policy: &Policy) -> Vec<ResourceRow> {
    let resources = visible(&catalog.resources, policy).map(|it| (it, false));
    let templates = visible(&catalog.templates, policy).map(|it| (it, true));
    resources
        .chain(templates)
        .map(|(entry, template)| {
            let definition =
                catalog.resource_definition(entry, template, &|it| is_visible(it, policy));
            resource_row(entry, template, &definition)
        })
        .collect()
}

/// The skills a local client sees, as far as they are known.
pub fn skills(catalog: &Catalog, policy: &Policy) -> Vec<SkillRow> {
    let skills = visible(&catalog.skills, policy).map(|entry| {
        let Skill {
            name,
            description,
            files,
        } = Skill::of(entry);
        SkillRow {
            uri: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            name,
            description,
            files: (!files.is_empty()).then_some(files.len()),
        }
    });
    skills.collect()
}

fn resource_row(entry: &CatalogEntry, template: bool, definition: &Raw) -> ResourceRow {
    let uri = if template { "uriTemplate" } else { "uri" };
    ResourceRow {
        uri: told(definition, &[uri]).unwrap_or_default(),
        template,
        server: entry.capability.server.clone(),
        name: told(definition, &["name"]),
        mime_type: told(definition, &["mimeType"]),
        description: told(definition, &["description", "title"]),
    }
}

fn visible<'a>(
    entries: &'a [Arc<CatalogEntry>],
    policy: &Policy,
) -> impl Iterator<Item = &'a CatalogEntry> {
    let entries = entries.iter().map(|it| &**it);
    entries.filter(|entry| is_visible(&entry.capability, policy))
}

fn is_visible(capability: &Capability, policy: &Policy) -> bool {
    policy.visible(&Caller::local(), capability)
}

/// Returns the first of these members that holds a text.
fn told(definition: &Raw, members: &[&str]) -> Option<String> {
    members
        .iter()
        .find_map(|member| serde_json::from_str(RawObject::peek(definition, member)?.get()).ok())
}
