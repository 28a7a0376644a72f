//! The tools that a request needs, by the reason.

use kitbag_llm::trim::{DialogueUpdate, Mentions, ToolNeeds, rank_by_shared_words};

use super::sorted::SortedTools;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use crate::surface::tools::AlwaysOnTool;

/// A result may list hundreds of tools. More than these at once would crowd out the ones that fit
/// what the person wants.
const MOST_MENTIONED: usize = 10;

/// Everything but the tools for the person's words, which take a search.
pub(super) fn own_needs<'r>(
    gateway: &Gateway,
    catalog: &Catalog,
    tools: &SortedTools<'r>,
    said: &DialogueUpdate<'_>,
) -> ToolNeeds<'r> {
    let demanded = tools.request.demanded.iter();
    let calls = tools.dialogue().calls.iter().rev();
    ToolNeeds {
        demanded: demanded.filter_map(|name| tools.meant(name)).collect(),
        always_on: tools
            .all_own()
            .filter(|name| AlwaysOnTool::from_name(name).is_some())
            .collect(),
        used: calls.filter_map(|name| tools.meant(name)).collect(),
        pinned: tools
            .all_own()
            .filter(|name| is_pinned(gateway, catalog, name))
            .collect(),
        relevant: None,
        mentioned: mentioned(&Mentions::new(tools.spellings()), said),
    }
}

fn is_pinned(gateway: &Gateway, catalog: &Catalog, name: &str) -> bool {
    let mut pins = gateway.surfaces.pinned.iter();
    catalog
        .tool(name)
        .is_some_and(|entry| pins.any(|pin| pin.covers(&entry.capability)))
}

/// The tools that are not ours have no index, so words decide about them.
pub(super) fn foreign_needs<'r>(
    tools: &SortedTools<'r>,
    said: &DialogueUpdate<'_>,
) -> ToolNeeds<'r> {
    let demanded = tools.request.demanded.iter();
    let calls = tools.dialogue().calls.iter().rev();
    let definitions = tools.foreign_definitions();
    let names = definitions
        .iter()
        .filter_map(|it| it.function.as_deref())
        .map(|name| (name, name));
    ToolNeeds {
        demanded: demanded.filter_map(|name| tools.foreign(name)).collect(),
        used: calls.filter_map(|name| tools.foreign(name)).collect(),
        relevant: said
            .are_words_new
            .then(|| rank_by_shared_words(&tools.dialogue().words, &definitions)),
        mentioned: mentioned(&Mentions::new(names), said),
        ..ToolNeeds::default()
    }
}

/// The latest text first; in one text the first name first, since lists begin with the best.
fn mentioned<'r>(names: &Mentions<'r>, said: &DialogueUpdate<'_>) -> Vec<&'r str> {
    let texts = said.texts.iter().rev();
    let named: Vec<&'r str> = texts
        .flat_map(|text| names.in_text(text).collect::<Vec<_>>())
        .collect();
    let mut first = Vec::new();
    for name in named {
        if first.len() < MOST_MENTIONED && !first.contains(&name) {
            first.push(name);
        }
    }
    first
}
