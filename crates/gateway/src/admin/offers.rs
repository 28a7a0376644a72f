//! The capabilities of all servers as table rows, as a local client sees them.

use std::sync::Arc;

use kitbag_domain::{Caller, Capability, ServerName};
use kitbag_policy::Policy;
use kitbag_wire::{Raw, RawObject};
use serde::{Deserialize, Serialize};

use crate::catalog::prompts::{self, PromptArgument};
use crate::catalog::skills::Skill;
use crate::catalog::{Catalog, CatalogEntry};

#[derive(Debug, Clone, Serialize, Deserialize)]
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

/// A resource, or a resource template with variables in braces.
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
    /// The URI of its `SKILL.md`, with its server's mark.
    pub uri: String,
    pub server: ServerName,
    pub name: String,
    pub description: String,
    /// The number of its files; absent if they are generated when read.
    pub files: Option<usize>,
}

/// Returns the known tools that a local client sees.
pub fn tool_rows(catalog: &Catalog, policy: &Policy) -> Vec<ToolRow> {
    visible_entries(&catalog.tools, policy)
        .map(|entry| ToolRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            tool: entry.capability.name.clone(),
            description: read_text(&entry.definition, &["description"]),
        })
        .collect()
}

/// Returns the known prompts that a local client sees.
pub fn prompt_rows(catalog: &Catalog, policy: &Policy) -> Vec<PromptRow> {
    visible_entries(&catalog.prompts, policy)
        .map(|entry| PromptRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            prompt: entry.capability.name.clone(),
            description: read_text(&entry.definition, &["description", "title"]),
            arguments: prompts::prompt_arguments(&entry.definition),
        })
        .collect()
}

/// Returns the known resources that a local client sees, then the templates.
pub fn resource_rows(catalog: &Catalog, policy: &Policy) -> Vec<ResourceRow> {
    let resources = visible_entries(&catalog.resources, policy).map(|it| (it, false));
    let templates = visible_entries(&catalog.templates, policy).map(|it| (it, true));
    resources
        .chain(templates)
        .map(|(entry, template)| {
            let definition =
                catalog.resource_definition(entry, template, &|it| is_visible(it, policy));
            resource_row(entry, template, &definition)
        })
        .collect()
}

/// Returns the known skills that a local client sees.
pub fn skill_rows(catalog: &Catalog, policy: &Policy) -> Vec<SkillRow> {
    let skills = visible_entries(&catalog.skills, policy).map(|entry| {
        let Skill {
            name,
            description,
            files,
        } = Skill::from_entry(entry);
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
        uri: read_text(definition, &[uri]).unwrap_or_default(),
        template,
        server: entry.capability.server.clone(),
        name: read_text(definition, &["name"]),
        mime_type: read_text(definition, &["mimeType"]),
        description: read_text(definition, &["description", "title"]),
    }
}

fn visible_entries<'a>(
    entries: &'a [Arc<CatalogEntry>],
    policy: &Policy,
) -> impl Iterator<Item = &'a CatalogEntry> {
    let entries = entries.iter().map(|it| &**it);
    entries.filter(|entry| is_visible(&entry.capability, policy))
}

fn is_visible(capability: &Capability, policy: &Policy) -> bool {
    policy.is_visible(&Caller::local(), capability)
}

/// Returns the first of these members that contains a text.
fn read_text(definition: &Raw, members: &[&str]) -> Option<String> {
    members.iter().find_map(|member| {
        serde_json::from_str(RawObject::peek_member(definition, member)?.get()).ok()
    })
}
