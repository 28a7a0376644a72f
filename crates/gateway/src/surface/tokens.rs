//! `kitbag stats tokens`: the exact cost of a surface at the start of a conversation.

use kitbag_domain::Surface;
use std::borrow::Cow;
use std::collections::BTreeMap;

use kitbag_budget::count;
use kitbag_domain::ServerName;
use kitbag_wire::{Raw, RawObject};
use serde::{Deserialize, Serialize};

use super::groups;
use super::tool_list::{surface_instructions, surface_tools};
use crate::catalog::CatalogEntry;
use crate::turn::Turn;

#[derive(Debug, Serialize, Deserialize)]
pub struct SurfaceTokens {
    /// The tokens of a `tools/list` with every tool.
    pub catalog: usize,
    /// The tokens that the surface puts into an empty context: its tools and instructions.
    pub shown: usize,
    pub saved: usize,
    pub surface: Surface,
    /// The tokenizer used; for models with another one these are estimates.
    pub tokenizer: Cow<'static, str>,
    pub tools: usize,
    pub servers: Vec<ServerTokens>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ServerTokens {
    pub server: ServerName,
    pub tools: usize,
    pub tokens: usize,
}

pub(crate) async fn count_surface_tokens(turn: &Turn, surface: Surface) -> SurfaceTokens {
    let visible: Vec<_> = groups::visible_tools(turn).collect();
    let definitions: Vec<&Raw> = visible.iter().map(|entry| &entry.definition).collect();
    let all = count(RawObject::new().with("tools", &definitions).to_raw().get());
    let listed = match surface.truncates_answers() {
        true => count(surface_tools(turn, surface).await.get()),
        false => all,
    };
    let instructions = surface_instructions(&turn.gateway, &turn.catalog, turn.caller(), surface);
    let shown = listed + instructions.map_or(0, |text| count(&text));
    SurfaceTokens {
        catalog: all,
        shown,
        saved: all.saturating_sub(shown),
        surface,
        tokenizer: Cow::Borrowed("o200k"),
        tools: visible.len(),
        servers: count_by_server(&visible),
    }
}

fn count_by_server(tools: &[&CatalogEntry]) -> Vec<ServerTokens> {
    let mut servers: BTreeMap<&ServerName, ServerTokens> = BTreeMap::new();
    for entry in tools {
        let server = &entry.capability.server;
        let row = servers.entry(server).or_insert_with(|| ServerTokens {
            server: server.clone(),
            tools: 0,
            tokens: 0,
        });
        row.tools += 1;
        row.tokens += count(entry.definition.get());
    }
    servers.into_values().collect()
}
