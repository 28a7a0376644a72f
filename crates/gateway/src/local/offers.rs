//! The offers of all servers, for a command: as a local client sees and asks for them.

use std::collections::{BTreeMap, BTreeSet};

use kitbag_domain::{Caller, Capability, ServerName, Surface};
use kitbag_policy::Policy;
use kitbag_upstream::CallError;
use kitbag_wire::meta::code;
use kitbag_wire::{Raw, RawObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Meanwhile;
use crate::app::{App, ToolRow};
use crate::call::McpCall;
use crate::catalog::{Catalog, Entry};
use crate::cli::failure::Advise as _;
use crate::failure::Failure;
use crate::prompts::{self, PromptArgument};
use crate::resources::unmark;
use crate::surface::kept;
use kitbag_schema::near;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PromptRow {
    pub(crate) name: String,
    pub(crate) server: ServerName,
    pub(crate) prompt: String,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Vec<PromptArgument>,
}

/// A resource, or a template that becomes one with values in place of the names in braces.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResourceRow {
    pub(crate) uri: String,
    pub(crate) template: bool,
    pub(crate) server: ServerName,
    pub(crate) name: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) description: Option<String>,
}

/// The tools a local client sees, as far as they are known.
pub(crate) fn tools(catalog: &Catalog, policy: &Policy) -> Vec<ToolRow> {
    let visible = catalog
        .tools
        .iter()
        .filter(|it| policy.visible(&Caller::local(), &it.capability));
    visible
        .map(|entry| ToolRow {
            name: entry.exposed.clone(),
            server: entry.capability.server.clone(),
            tool: entry.capability.name.clone(),
            description: told(&entry.definition, &["description"]),
        })
        .collect()
}

/// The prompts a local client sees, as far as they are known.
pub(crate) fn prompts(catalog: &Catalog, policy: &Policy) -> Vec<PromptRow> {
    let visible = catalog
        .prompts
        .iter()
        .filter(|it| policy.visible(&Caller::local(), &it.capability));
    visible
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
pub(crate) fn resources(catalog: &Catalog, policy: &Policy) -> Vec<ResourceRow> {
    let seen = |it: &Capability| policy.visible(&Caller::local(), it);
    let row = |entry: &Entry, template: bool| {
        let definition = catalog.resource_definition(entry, template, &seen);
        let uri = told(
            &definition,
            if template { &["uriTemplate"] } else { &["uri"] },
        );
        ResourceRow {
            uri: uri.unwrap_or_default(),
            template,
            server: entry.capability.server.clone(),
            name: told(&definition, &["name"]),
            mime_type: told(&definition, &["mimeType"]),
            description: told(&definition, &["description", "title"]),
        }
    };
    let visible = |entries: &[Entry], template: bool| -> Vec<ResourceRow> {
        entries
            .iter()
            .filter(|it| seen(&it.capability))
            .map(|it| row(it, template))
            .collect()
    };
    let mut rows = visible(&catalog.resources, false);
    rows.extend(visible(&catalog.templates, true));
    rows
}

/// Returns what a prompt says. Its arguments are held against its declaration before the server is
/// started.
pub(crate) async fn prompt(
    app: &App,
    name: &str,
    arguments: &BTreeMap<String, String>,
    meanwhile: Meanwhile<'_>,
) -> anyhow::Result<Value> {
    let params = RawObject::new()
        .with("name", name)
        .with("arguments", arguments);
    let call = McpCall::prompt(params)?;
    let asked = app
        .run(app.turn("kitbag prompts", Surface::Search), call, meanwhile)
        .await;
    let known = |row: PromptRow| Known {
        name: row.name.clone(),
        typed: row.name,
    };
    let known = || app.prompts().into_iter().map(known).collect();
    answered(asked, name, known, "kitbag prompts")
}

/// Returns the contents of a resource, to the letter: a person may want to keep it as a file.
pub(crate) async fn read(app: &App, uri: &str, meanwhile: Meanwhile<'_>) -> anyhow::Result<Value> {
    let params = RawObject::new().with("uri", uri);
    let (turn, _unheard) = app.turn("kitbag resources", Surface::Search);
    if let Some(kept) = kept::read(&turn, &params) {
        return Ok(serde_json::from_str(kept?.get())?);
    }
    let call = McpCall::resource(params)?;
    let asked = app
        .run(app.turn("kitbag resources", Surface::All), call, meanwhile)
        .await;
    let known = |row: ResourceRow| Known {
        name: unmark(&row.uri).map_or_else(|| row.uri.clone(), |(_, own)| own.to_owned()),
        typed: row.uri,
    };
    let known = || app.resources().into_iter().map(known).collect();
    answered(asked, uri, known, "kitbag resources")
}

/// A name that a person may have meant, and the way in which it is typed if several servers have
/// it.
struct Known {
    name: String,
    typed: String,
}

/// Returns the result, or advises the name that the person probably meant if no server knows the
/// name.
fn answered(
    asked: anyhow::Result<Raw>,
    name: &str,
    known: impl FnOnce() -> Vec<Known>,
    list: &str,
) -> anyhow::Result<Value> {
    match asked {
        Ok(result) => Ok(serde_json::from_str(result.get())?),
        Err(error) if is_unknown(&error) => {
            Err(error).advise(|| match likely(name, &known()).as_slice() {
                [] => format!("see which there are with `{list}`"),
                likely => format!("did you mean {}?", likely.join(" or ")),
            })
        }
        Err(error) => Err(error),
    }
}

fn likely<'a>(name: &str, known: &'a [Known]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = known
        .iter()
        .map(|it| it.name.as_str())
        .filter(|it| *it != name)
        .collect();
    let near = near(name, names.into_iter());
    near.into_iter()
        .flat_map(|name| {
            known
                .iter()
                .filter(move |it| it.name == name)
                .map(|it| it.typed.as_str())
        })
        .collect()
}

/// True if the error says that the name is unknown. If one server alone has resources, it is asked
/// for every URI, and says itself that it has no such resource.
fn is_unknown(error: &anyhow::Error) -> bool {
    let missing = |code| code == code::LEGACY_RESOURCE_NOT_FOUND || code == code::INVALID_PARAMS;
    match error.downcast_ref() {
        Some(Failure::UnknownPrompt { .. } | Failure::UnknownResource { .. }) => true,
        _ => {
            matches!(error.downcast_ref(), Some(CallError::Refused { error, .. }) if missing(error.code))
        }
    }
}

/// Returns the first of these members that holds a text.
fn told(definition: &Raw, members: &[&str]) -> Option<String> {
    members
        .iter()
        .find_map(|member| serde_json::from_str(RawObject::peek(definition, member)?.get()).ok())
}
