//! The lists of capabilities that a caller may see: merged from the catalog page by page, or of one
//! server as returned by that server.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_domain::{Capability, DefinitionKind, Kind, ServerName};
use kitbag_fetch::Secrets;
use kitbag_upstream::{CallError, mask_json};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Raw, RawObject, is_too_deep};
use serde_json::value::RawValue;

use crate::call::bridge::mark_complete;
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::unapproved;
use crate::call::{Call, McpCall};
use crate::catalog::CatalogEntry;
use crate::catalog::overrides;
use crate::catalog::skills;
use crate::surface::remainder_resource;
use crate::surface::sanitize;
use crate::surface::tool_list::{always_on_tools, surface_tools};
use crate::telemetry::meter::ShownList;
use crate::turn::Turn;
use crate::turn::view::View;

/// How long a modern client may cache a list. Changes are announced, so this only matters for
/// clients that do not listen.
pub(super) const CACHE_MS: u64 = 60_000;

#[derive(Debug, Clone, Copy)]
pub(super) enum ListMethod {
    Tools,
    Prompts,
    Resources,
    Templates,
    Skills,
}

/// Answers `tools/list`.
pub(crate) async fn list_tools(turn: &Turn, params: RawObject) -> Result<Raw, Failure> {
    answer_list(turn, ListMethod::Tools, params).await
}

pub(super) async fn answer_list(
    turn: &Turn,
    list: ListMethod,
    params: RawObject,
) -> Result<Raw, Failure> {
    let result = match turn.view {
        View::Merged(surface) => match list {
            ListMethod::Tools if surface.truncates_answers() => surface_tools(turn, surface).await,
            _ => merged_page(turn, list, &params)?,
        },
        View::Server(_) => {
            let call = Call::Mcp(McpCall::for_list(list.method(), params));
            filter_server_list(turn, list, pipeline::run(turn, call).await?)?
        }
    };
    let result = if turn.view.is_small_surface() {
        sanitize::sanitize_json(result, &Secrets::default())
    } else {
        result
    };
    if matches!(list, ListMethod::Tools) {
        turn.gateway.services.meter.record_list(&ShownList {
            client: &turn.client,
            view: &turn.view,
            policy: turn.policy(),
            catalog: &turn.catalog,
            text: result.get(),
        });
    }
    Ok(add_cache_hints(turn.client.era, result))
}

fn merged_page(turn: &Turn, list: ListMethod, params: &RawObject) -> Result<Raw, Failure> {
    let catalog = &turn.catalog;
    let entries = match list {
        ListMethod::Tools => &catalog.tools,
        ListMethod::Prompts => &catalog.prompts,
        ListMethod::Resources => &catalog.resources,
        ListMethod::Templates => &catalog.templates,
        ListMethod::Skills => &catalog.skills,
    };
    let visible: Vec<&CatalogEntry> = entries
        .iter()
        .map(|entry| &**entry)
        .filter(|entry| turn.can_see(&entry.capability))
        .collect();
    let from = page_start(&visible, params)?;
    let page = &visible[from..visible.len().min(from + turn.gateway.serve.page_size)];
    let mut definitions: Vec<Raw> = page
        .iter()
        .map(|it| visible_definition(turn, list, it))
        .collect();
    if from == 0 && matches!(list, ListMethod::Templates) && turn.view.is_small_surface() {
        definitions.push(remainder_resource::remainder_template().clone());
    }
    if from == 0 && matches!(list, ListMethod::Tools) {
        definitions.extend(always_on_tools(turn));
    }
    let mut result = RawObject::new().with(list.field(), &definitions);
    if from + page.len() < visible.len()
        && let Some(last) = page.last()
    {
        result.put("nextCursor", &URL_SAFE_NO_PAD.encode(&last.exposed));
    }
    Ok(result.to_raw())
}

/// Returns the definition of an entry, under the name by which this caller reaches it.
fn visible_definition(turn: &Turn, list: ListMethod, entry: &CatalogEntry) -> Raw {
    let is_template = match list {
        ListMethod::Tools | ListMethod::Prompts => return entry.definition.clone(),
        ListMethod::Resources => false,
        ListMethod::Templates => true,
        ListMethod::Skills => return skills::skill_for_client(entry),
    };
    turn.catalog
        .resource_definition(entry, is_template, &|it| turn.can_see(it))
}

/// A cursor names the last entry of the previous page, so that it stays valid while the catalog
/// changes.
fn page_start(visible: &[&CatalogEntry], params: &RawObject) -> Result<usize, Failure> {
    let Some(cursor) = params.get("cursor").filter(|cursor| cursor.get() != "null") else {
        return Ok(0);
    };
    let last = decode_cursor(cursor);
    visible
        .iter()
        .position(|entry| Some(&entry.exposed) == last.as_ref())
        .map(|at| at + 1)
        .ok_or_else(|| Failure::bad_params("unknown or expired cursor; list from the start"))
}

/// Returns the name in a cursor of the merged lists.
fn decode_cursor(cursor: &RawValue) -> Option<String> {
    let cursor: String = serde_json::from_str(cursor.get()).ok()?;
    let name = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    String::from_utf8(name).ok()
}

/// Removes entries that the caller may not see from one server's list. A list without hidden
/// entries keeps the server's text unchanged.
fn filter_server_list(turn: &Turn, list: ListMethod, result: Raw) -> Result<Raw, Failure> {
    let View::Server(server) = &turn.view else {
        return Ok(result);
    };
    let secrets = turn.gateway.upstreams.get(server).map(|it| it.secrets());
    let masked = |json: &Raw| mask_json(json, secrets.as_ref()?);
    let items = RawObject::open(&result).ok();
    let items = items.and_then(|it| it.read::<Vec<Raw>>(list.field()));
    let hidden = masked(&result);
    let has_secret = hidden.is_some();
    let result = hidden.unwrap_or(result);
    let (Ok(mut object), Some(items)) = (RawObject::open(&result), items) else {
        return Ok(result);
    };
    let is_deep = is_too_deep(result.get().as_bytes());
    let clean: Vec<Raw> = items
        .iter()
        .map(|item| masked(item).unwrap_or_else(|| item.clone()))
        .collect();
    let shown: Vec<_> = items
        .iter()
        .zip(&clean)
        .map(|(item, clean)| {
            overrides::override_definition(turn, &list.capability(server, item), clean)
        })
        .collect();
    let is_changed = has_secret || shown.iter().any(|it| matches!(it, Cow::Owned(_)));
    let mut visible: Vec<(&Raw, &Raw)> = items.iter().zip(shown.iter().map(|it| &**it)).collect();
    visible.retain(|(item, shown)| {
        let capability = list.capability(server, item);
        let names_a_secret = has_secret && list.capability(server, shown) != capability;
        turn.can_see(&capability)
            && !names_a_secret
            && !overrides::is_hidden(turn, &capability)
            && !unapproved::is_unapproved_entry(turn, list.definition_kind(), &capability, item)
    });
    let mut visible: Vec<&Raw> = visible.into_iter().map(|(_, shown)| shown).collect();
    if !is_deep && !is_changed && visible.len() == items.len() {
        return Ok(result);
    }
    visible.retain(|item| !is_too_deep(item.get().as_bytes()));
    object.remove(list.field());
    if is_too_deep(object.to_raw().get().as_bytes()) {
        return Err(CallError::TooDeep {
            server: server.clone(),
        }
        .into());
    }
    object.put(list.field(), &visible);
    Ok(object.to_raw())
}

/// Adds the cache hints required in modern results, if the server gave none.
pub(super) fn add_cache_hints(era: Era, result: Raw) -> Raw {
    if era == Era::Legacy {
        return result;
    }
    let result = mark_complete(result);
    let Ok(mut object) = RawObject::open(&result) else {
        return result;
    };
    if object.contains("ttlMs") && object.contains("cacheScope") {
        return result;
    }
    if object.read::<String>("resultType").as_deref() != Some("complete") {
        return result;
    }
    if !object.contains("ttlMs") {
        object.put("ttlMs", &CACHE_MS);
    }
    if !object.contains("cacheScope") {
        object.put("cacheScope", "private");
    }
    object.to_raw()
}

impl ListMethod {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => method::LIST_TOOLS,
            Self::Prompts => method::LIST_PROMPTS,
            Self::Resources => method::LIST_RESOURCES,
            Self::Templates => method::LIST_TEMPLATES,
            Self::Skills => method::LIST_SKILLS,
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Skills => "skills",
        }
    }

    fn definition_kind(self) -> DefinitionKind {
        match self {
            Self::Tools => DefinitionKind::Tool,
            Self::Prompts => DefinitionKind::Prompt,
            Self::Resources => DefinitionKind::Resource,
            Self::Templates => DefinitionKind::ResourceTemplate,
            Self::Skills => DefinitionKind::Skill,
        }
    }

    /// Returns the capability that an entry of a server's list describes.
    fn capability(self, server: &ServerName, entry: &Raw) -> Capability {
        let entry = RawObject::open(entry).unwrap_or_default();
        Capability {
            server: server.clone(),
            kind: self.kind(),
            name: entry.read(self.definition_kind().key()).unwrap_or_default(),
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Tools => Kind::Tool,
            Self::Prompts => Kind::Prompt,
            Self::Resources | Self::Templates | Self::Skills => Kind::Resource,
        }
    }
}
